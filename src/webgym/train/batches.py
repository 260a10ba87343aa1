"""Which samples an update learns from, and their tensors.

Samples come from an endless row of epochs, each a permutation made of the seed, so a position in that row says all about the
order: a job that resumes on the same samples goes on where the last one ended. Within an update, samples are sorted by
length before they are cut into batches: padding is little, and what an update learns from stays random.

Batches are padded on the left. All replies then end at the same place, and logits are computed for the last few positions
only, which at a vocabulary of 150,000 is what decides whether long prompts fit into memory.
"""

from __future__ import annotations

import hashlib
import io
import queue
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import torch
from PIL import Image

from webgym.train.encoding import Encoded, ImageFolders

T = TypeVar("T")
_CACHE_BYTES: Final = 256 << 20


def endless(count: int, seed: int, start: int = 0) -> Iterator[int]:
    """Positions of samples from the `start`th of the row on."""
    epoch, offset = divmod(start, count)
    while True:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        yield from torch.randperm(count, generator=generator).tolist()[offset:]
        epoch, offset = epoch + 1, 0


def cut(chosen: Sequence[int], lengths: Sequence[int], batch: int, *, processes: int, mine: int) -> list[list[int]]:
    """The batches of one process for an update, longest first; processes get batches of like lengths."""
    rows = sorted(chosen, key=lambda one: (-lengths[one], one))
    batches = [rows[n : n + batch] for n in range(0, len(rows), batch)]
    return batches[mine::processes]


def held_back(task: str, share: float, seed: int) -> bool:
    """Whether a task is for validation. All its samples are, so that nothing of it is learned."""
    digest = hashlib.sha256(f"{seed}/{task}".encode()).digest()
    return int.from_bytes(digest[:7], "big") < share * 2**56


@dataclass(frozen=True)
class Batch:
    """Tensors of a few samples: what the model reads, and what the objective needs of the last positions."""

    inputs: dict[str, Any]
    targets: torch.Tensor  # rows × the longest reply
    learned: torch.Tensor  # which of the targets are tokens of a reply
    advantages: torch.Tensor  # one a row
    logprobs: torch.Tensor  # of the rollout; NaN where unknown
    tokens: int  # without padding

    def to(self, device: Any) -> Batch:
        inputs = {
            name: value.to(device) if isinstance(value, torch.Tensor) else value for name, value in self.inputs.items()
        }
        return Batch(
            inputs=inputs,
            targets=self.targets.to(device),
            learned=self.learned.to(device),
            advantages=self.advantages.to(device),
            logprobs=self.logprobs.to(device),
            tokens=self.tokens,
        )


class Collator:
    """Makes batches of encoded samples."""

    def __init__(self, processor: Any, images: ImageFolders, *, cache_bytes: int = _CACHE_BYTES) -> None:
        self._pixels = _Pixels(processor.image_processor, images, cache_bytes)
        self._image_id: int = processor.image_token_id
        self._pad: int = processor.tokenizer.pad_token_id or 0

    def collate(self, rows: Sequence[Encoded]) -> Batch:
        width, reply = max(map(len, rows)), max(row.reply for row in rows)
        ids = torch.full((len(rows), width), self._pad, dtype=torch.long)
        mask = torch.zeros_like(ids)
        old = torch.full((len(rows), reply), torch.nan)
        learned = torch.zeros((len(rows), reply), dtype=torch.bool)
        for n, row in enumerate(rows):
            ids[n, width - len(row) :] = torch.tensor(row.ids, dtype=torch.long)
            mask[n, width - len(row) :] = 1
            learned[n, reply - row.reply :] = True
            if row.logprobs is not None:
                old[n, reply - row.reply :] = torch.tensor(row.logprobs)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "logits_to_keep": reply + 1, "use_cache": False}
        if shown := [sha256 for row in rows for sha256 in row.images]:
            inputs["pixel_values"], inputs["image_grid_thw"] = self._pixels.of(shown)
            inputs["mm_token_type_ids"] = ((ids == self._image_id) & (mask == 1)).to(torch.int)
        return Batch(
            inputs=inputs,
            targets=ids[:, width - reply :],
            learned=learned,
            advantages=torch.tensor([row.advantage for row in rows]),
            logprobs=old,
            tokens=sum(map(len, rows)),
        )


class _Pixels:
    """Images as patches; the latest stay in memory, because neighbouring steps show the same screenshots."""

    def __init__(self, processor: Any, images: ImageFolders, most: int) -> None:
        self._processor, self._images, self._most = processor, images, most
        self._kept: OrderedDict[str, tuple[torch.Tensor, torch.Tensor]] = OrderedDict()
        self._bytes = 0

    def of(self, hashes: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches of all images one after another, and the grid of each."""
        missing = [sha256 for sha256 in dict.fromkeys(hashes) if sha256 not in self._kept]
        fresh = dict(zip(missing, self._process([self._images.read(one) for one in missing]), strict=True))
        found = [fresh.get(sha256) or self._kept[sha256] for sha256 in hashes]
        for sha256 in dict.fromkeys(hashes):
            self._keep(sha256, fresh.get(sha256))
        return torch.cat([patches for patches, _ in found]), torch.stack([grid for _, grid in found])

    def _process(self, files: list[bytes]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        if not files:
            return
        opened = []
        for data in files:
            with Image.open(io.BytesIO(data)) as image:
                opened.append(image.convert("RGB"))
        done = self._processor(images=opened, return_tensors="pt")
        grids = done["image_grid_thw"]
        yield from zip(done["pixel_values"].split(grids.prod(dim=1).tolist()), grids, strict=True)

    def _keep(self, sha256: str, fresh: tuple[torch.Tensor, torch.Tensor] | None) -> None:
        if fresh is None:
            if sha256 in self._kept:  # a fresh one of the same batch may just have taken its room
                self._kept.move_to_end(sha256)
            return
        self._kept[sha256] = (fresh[0].clone(), fresh[1])  # a view would keep its whole batch alive
        self._bytes += fresh[0].nbytes
        while self._bytes > self._most and len(self._kept) > 1:
            _, (patches, _) = self._kept.popitem(last=False)
            self._bytes -= patches.nbytes


def ahead(rows: Iterable[T], depth: int = 2) -> Iterator[T]:
    """The same rows, made by a thread while the caller works on earlier ones. What it raises is raised here."""
    waiting: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(maxsize=depth)
    stop = threading.Event()

    def offer(row: T | None, error: BaseException | None) -> bool:
        while not stop.is_set():
            try:
                waiting.put((row, error), timeout=0.2)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for row in rows:
                if not offer(row, None):
                    return
            offer(None, StopIteration())
        except BaseException as e:  # noqa: BLE001 - handed over, not swallowed
            offer(None, e)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            row, error = waiting.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            assert row is not None
            yield row
    finally:
        stop.set()
        thread.join(timeout=10)
