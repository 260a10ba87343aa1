"""What pages do unasked: dialogs, popups, downloads, choosers. Each is answered at once so that nothing can stall, kept
for the next observation, and counted against a cap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

import msgspec

from webgym.server.cdp import Channel
from webgym.types import Dialog, Download

MAX_DIALOGS = 20
MAX_DOWNLOADS = 20
MAX_NOTES = 20
MAX_MESSAGE = 500

DialogKind = Literal["alert", "confirm", "prompt", "beforeunload"]


class DialogOpening(msgspec.Struct):
    type: str
    message: str = ""


class DownloadBegins(msgspec.Struct):
    guid: str
    url: str
    suggestedFilename: str


class DownloadProgress(msgspec.Struct):
    guid: str
    totalBytes: float
    receivedBytes: float
    state: str


class ChooserOpened(msgspec.Struct):
    backendNodeId: int = 0


@dataclass
class _Transfer:
    name: str
    url: str
    state: Literal["running", "done", "refused", "failed"] = "running"
    size: int = 0
    told: bool = False


@dataclass
class Surprises:
    """The surprises of one session since its last observation. `root` is the browser's own channel."""

    root: Channel
    context_id: str
    folder: Path
    max_download: int
    dialogs: list[Dialog] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    truncated: set[Literal["dialogs", "downloads"]] = field(default_factory=set)
    choosers: list[int] = field(default_factory=list)
    _transfers: dict[str, _Transfer] = field(default_factory=dict)
    _stored: int = 0

    def watch(self, channel: Channel) -> None:
        channel.on("Page.javascriptDialogOpening", DialogOpening, lambda event: self._dialog(channel, event))
        channel.on("Page.fileChooserOpened", ChooserOpened, self._chooser)

    def note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)

    def _dialog(self, channel: Channel, event: DialogOpening) -> None:
        # Staying is what a trap wants: beforeunload is the one dialog that is accepted.
        channel.post("Page.handleJavaScriptDialog", {"accept": event.type == "beforeunload"})
        if len(self.dialogs) >= MAX_DIALOGS:
            self.truncated.add("dialogs")
            return
        kind = event.type if event.type in ("alert", "confirm", "prompt", "beforeunload") else "alert"
        self.dialogs.append(Dialog(kind=cast(DialogKind, kind), message=event.message[:MAX_MESSAGE]))

    def _chooser(self, event: ChooserOpened) -> None:
        self.choosers.append(event.backendNodeId)
        del self.choosers[:-4]

    # downloads: Chromium names the file by its guid, so a page's idea of a name never touches the disk

    def download_begins(self, event: DownloadBegins) -> None:
        running = sum(1 for transfer in self._transfers.values() if transfer.state == "running")
        transfer = _Transfer(safe_name(event.suggestedFilename), event.url[:2000])
        if running >= MAX_DOWNLOADS or len(self._transfers) >= 10 * MAX_DOWNLOADS:
            self.truncated.add("downloads")
            self._cancel(event.guid)
            return
        self._transfers[event.guid] = transfer

    def download_progress(self, event: DownloadProgress) -> bool:
        """Take in a report; True when a transfer has come to its end."""
        transfer = self._transfers.get(event.guid)
        if transfer is None or transfer.state != "running":
            return False
        transfer.size = int(event.receivedBytes)
        if event.state == "completed":
            transfer.state = "done"
            self._keep(event.guid, transfer)
        elif event.state == "canceled":
            transfer.state = "failed"
        elif max(event.totalBytes, event.receivedBytes) + self._stored > self.max_download:
            transfer.state = "refused"
            self._cancel(event.guid)
        return transfer.state != "running"

    def _cancel(self, guid: str) -> None:
        self.root.post("Browser.cancelDownload", {"guid": guid, "browserContextId": self.context_id})

    def _keep(self, guid: str, transfer: _Transfer) -> None:
        source = self.folder / guid
        name, n = transfer.name, 1
        while (self.folder / name).exists():
            n += 1
            stem, dot, ending = transfer.name.rpartition(".")
            name = f"{stem} ({n}){dot}{ending}" if stem else f"{ending} ({n})"
        try:
            if source.stat().st_size + self._stored > self.max_download:
                transfer.state = "refused"
                source.unlink()
                return
            self._stored += source.stat().st_size
            source.rename(self.folder / name)
            transfer.name = name
        except OSError:
            transfer.state = "failed"

    def take_dialogs(self) -> tuple[Dialog, ...]:
        taken = tuple(self.dialogs)
        self.dialogs.clear()
        return taken

    def take_notes(self) -> tuple[str, ...]:
        taken = tuple(self.notes)
        self.notes.clear()
        return taken

    def take_downloads(self) -> tuple[Download, ...]:
        """Transfers that are running or ended since they were last reported."""
        taken = []
        for transfer in self._transfers.values():
            if not transfer.told:
                taken.append(Download(name=transfer.name, url=transfer.url, state=transfer.state, size=transfer.size))
                transfer.told = transfer.state != "running"
        return tuple(taken[:MAX_DOWNLOADS])


def safe_name(suggested: str) -> str:
    """A page's file name without anything a path, a shell or a terminal could mind."""
    last = re.split(r"[/\\]", suggested)[-1]
    name = re.sub(r"[^\w .()\[\]+-]", "_", last).strip(" .")[:120]
    return name or "download"
