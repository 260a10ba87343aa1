"""What pages do unasked: dialogs, popups, downloads, choosers. Each is answered at once so that nothing can stall, kept
for the next observation, and counted against a cap.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
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
MAX_NAME = 120  # bytes
UNFINISHED = ".crdownload"  # how Chromium calls a file while it writes it; the stem is the download's guid
LOOK_SECONDS = 0.03  # Chromium reports twice a second, and a fast website sends tens of megabytes between two reports

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
    ended: bool = False  # Chromium has said so: nothing of it is written any more


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
    choosers: list[tuple[Channel, int]] = field(default_factory=list)
    _transfers: dict[str, _Transfer] = field(default_factory=dict)
    _stored: int = 0
    _strays: set[str] = field(default_factory=set)
    _looking: bool = False

    def watch(self, channel: Channel, wake: Callable[[], None]) -> None:
        """Answer what happens on a channel; `wake` is called when there is news that somebody may wait for."""

        def chooser(event: ChooserOpened) -> None:
            self.choosers.append((channel, event.backendNodeId))
            del self.choosers[:-4]
            wake()

        channel.on("Page.javascriptDialogOpening", DialogOpening, lambda event: self._dialog(channel, event))
        channel.on("Page.fileChooserOpened", ChooserOpened, chooser)

    def note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)

    def _dialog(self, channel: Channel, event: DialogOpening) -> None:
        if len(self.dialogs) >= MAX_DIALOGS:
            self.truncated.add("dialogs")
            self.note(f"a page opened more than {MAX_DIALOGS} dialogs; the script that did was stopped")
            channel.post("Runtime.terminateExecution")  # takes effect when the dialog returns
        # Staying is what a trap wants: beforeunload is the one dialog that is accepted.
        channel.post("Page.handleJavaScriptDialog", {"accept": event.type == "beforeunload"})
        if len(self.dialogs) >= MAX_DIALOGS:
            return
        kind = event.type if event.type in ("alert", "confirm", "prompt", "beforeunload") else "alert"
        self.dialogs.append(Dialog(kind=cast(DialogKind, kind), message=event.message[:MAX_MESSAGE]))

    # downloads: Chromium names the file by its guid, so a page's idea of a name never touches the disk

    def download_begins(self, event: DownloadBegins) -> bool:
        """Take it in; False if it was refused."""
        running = sum(1 for transfer in self._transfers.values() if transfer.state == "running")
        transfer = _Transfer(safe_name(event.suggestedFilename), event.url[:2000])
        if running >= MAX_DOWNLOADS or len(self._transfers) >= 10 * MAX_DOWNLOADS:
            self.truncated.add("downloads")
            self.cancel(event.guid)
            return False
        self._transfers[event.guid] = transfer
        if not self._looking:
            self._looking = True
            self._look_again()
        return True

    def download_progress(self, event: DownloadProgress) -> bool:
        """Take in a report; True when a transfer has come to its end."""
        transfer = self._transfers.get(event.guid)
        if transfer is None or transfer.state != "running":
            self.refuse(event)
        else:
            transfer.size = int(event.receivedBytes)
            if event.state == "completed":
                transfer.state = "done"
                self._keep(event.guid, transfer)
            elif event.state == "canceled":
                transfer.state = "failed"
            elif max(event.totalBytes - event.receivedBytes, 0) + self._held() > self.max_download:
                transfer.state = "refused"
                self.cancel(event.guid)
        ended = event.state != "inProgress"
        if transfer is not None:
            transfer.ended = ended
        return ended

    def refuse(self, event: DownloadProgress) -> None:
        """A report of what was refused before: an order to stop that comes too early in a download's life has no effect, and
        a small one may be whole by the next."""
        if event.state == "inProgress":
            self.cancel(event.guid)
        elif event.state == "completed":
            with contextlib.suppress(OSError):
                (self.folder / event.guid).unlink()

    def _look_again(self) -> None:
        asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Keep the cap between Chromium's reports, for as long as anything is being written."""
        growing: dict[str, _Transfer] = {}
        for guid, transfer in self._transfers.items():
            if transfer.ended:
                continue
            with contextlib.suppress(OSError):  # not begun, or whole already
                transfer.size = max(transfer.size, (self.folder / f"{guid}{UNFINISHED}").stat().st_size)
                if transfer.state == "running":
                    growing[guid] = transfer
                else:
                    self.cancel(guid)
        while growing and self._held() > self.max_download:
            largest = max(growing, key=lambda guid: growing[guid].size)
            growing.pop(largest).state = "refused"
            self.cancel(largest)
        self._looking = self.folder.exists() and not all(transfer.ended for transfer in self._transfers.values())
        if self._looking:
            self._look_again()

    def refuse_strays(self) -> None:
        """Stop what is written to the folder though no event told of it: Chromium tells none if the tab was closed first.

        Called once in a while; a file has to be met twice, because its event may still be on the way.
        """
        with contextlib.suppress(OSError):
            found = {file.stem for file in self.folder.iterdir() if file.suffix == UNFINISHED}
            for guid in filter(self._is_stray, self._strays):
                if guid in found:
                    self.cancel(guid)
                else:
                    (self.folder / guid).unlink(missing_ok=True)  # it was whole before the order came
            self._strays = set(filter(self._is_stray, found))

    def _is_stray(self, guid: str) -> bool:
        transfer = self._transfers.get(guid)
        return transfer is None or transfer.state != "running"

    def _held(self) -> int:
        """Bytes on disk: the files that are kept and what the others have so far."""
        running = sum(transfer.size for transfer in self._transfers.values() if transfer.state == "running")
        return self._stored + running

    def cancel(self, guid: str) -> None:
        self.root.post("Browser.cancelDownload", {"guid": guid, "browserContextId": self.context_id})

    def _keep(self, guid: str, transfer: _Transfer) -> None:
        source = self.folder / guid
        name, n = transfer.name, 1
        while (self.folder / name).exists():
            n += 1
            name = _numbered(transfer.name, n)
        try:
            size = source.stat().st_size
            if size + self._held() > self.max_download:
                transfer.state = "refused"
                source.unlink()
                return
            source.rename(self.folder / name)
            self._stored += size
            transfer.name = name
        except OSError:
            transfer.state = "failed"

    def take_dialogs(self) -> tuple[Dialog, ...]:
        taken = tuple(self.dialogs)
        self.dialogs.clear()
        return taken

    def take_notes(self) -> tuple[str, ...]:
        if self.choosers:  # those that `upload` answered are no longer there
            self.choosers.clear()
            self.note("a page asked for a file and was given none: `upload` gives it one")
        taken = tuple(self.notes)
        self.notes.clear()
        return taken

    def take_downloads(self) -> tuple[Download, ...]:
        """Transfers that are running or ended since they were last reported."""
        untold = [transfer for transfer in self._transfers.values() if not transfer.told]
        for transfer in untold[:MAX_DOWNLOADS]:  # the others are told next time
            transfer.told = transfer.state != "running"
        if len(untold) > MAX_DOWNLOADS:
            self.truncated.add("downloads")
        return tuple(
            Download(name=transfer.name, url=transfer.url, state=transfer.state, size=transfer.size)
            for transfer in untold[:MAX_DOWNLOADS]
        )


def safe_name(suggested: str) -> str:
    """A page's file name without anything a path, a shell or a terminal could mind."""
    last = re.split(r"[/\\]", suggested)[-1]
    name = re.sub(r"[^\w .()\[\]+-]", "_", last).strip(" .")
    stem, dot, ending = name.rpartition(".")
    if dot and len(ending) <= 16:
        name = _front(stem, MAX_NAME - len(ending.encode()) - 1).rstrip(" .") + dot + ending
    return _front(name, MAX_NAME).strip(" .") or "download"


def _numbered(name: str, n: int) -> str:
    """Another name for a file whose name is taken; a safe one stays one."""
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = ending, "", ""
    number = f" ({n})"
    return _front(stem, MAX_NAME - len(f"{number}{dot}{ending}".encode())).rstrip(" .") + number + dot + ending


def _front(text: str, most: int) -> str:
    """The first characters whose bytes a file system takes as a name."""
    return text.encode()[:most].decode(errors="ignore")
