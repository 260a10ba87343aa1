"""Keys and values of the sequences under way, and attention over them.

`Slots` is one tensor with a row a sequence. A step's tokens come packed, all sequences one after another: first one token
each of the rows 0 … n-1 that are being continued, then stretches of prompts (`Stretch`) of rows behind those. `attend`
writes the new keys and values into their rows and lets every token see its own row up to itself, and nothing of any other.

Rows are dense: whoever ends a sequence moves the last one into its place. So the continued rows are a slice, never copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.nn.functional import scaled_dot_product_attention as attention

ATTENTION: Final = "webgym_slots"  # the name under which transformers finds `attend`
GROWTH: Final = 256  # tokens


class Slots:
    """Grows as needed up to what its owner admits; never shrinks but by `clear`."""

    def __init__(self, layers: int, heads: int, width: int, dtype: torch.dtype) -> None:
        self._shape = (layers, heads, width)
        self._dtype = dtype
        self.token_bytes: int = 2 * layers * heads * width * torch.empty((), dtype=dtype).element_size()
        self.clear()

    def clear(self) -> None:
        layers, heads, width = self._shape
        self.data = torch.empty(2, layers, 0, heads, 0, width, dtype=self._dtype)

    @property
    def rows(self) -> int:
        return int(self.data.shape[2])

    @property
    def length(self) -> int:
        return int(self.data.shape[4])

    def reserve(self, rows: int, length: int) -> None:
        """Make room. What is not written yet is zero: what attention ignores must still be a number."""
        rows, length = self._grown(rows, length)
        if (rows, length) == (self.rows, self.length):
            return
        layers, heads, width = self._shape
        larger = torch.zeros(2, layers, rows, heads, length, width, dtype=self._dtype)
        larger[:, :, : self.rows, :, : self.length] = self.data
        self.data = larger

    def bytes_for(self, rows: int, length: int) -> int:
        """What it would take with that much room."""
        rows, length = self._grown(rows, length)
        return rows * length * self.token_bytes

    def _grown(self, rows: int, length: int) -> tuple[int, int]:
        """In large steps, because everything is copied."""
        rows = max(rows, 2 * self.rows) if rows > self.rows else self.rows
        length = -(-length // GROWTH) * GROWTH if length > self.length else self.length
        return rows, length

    def move(self, source: int, target: int, length: int) -> None:
        self.data[:, :, target, :, :length] = self.data[:, :, source, :, :length]

    def copy(self, row: int, length: int) -> torch.Tensor:
        """A sequence's keys and values as `paste` takes them: both, layers, heads, tokens, width."""
        return self.data[:, :, row, :, :length].clone()

    def paste(self, row: int, kept: torch.Tensor, length: int) -> None:
        self.data[:, :, row, :, :length] = kept[:, :, :, :length]


@dataclass(frozen=True)
class Stretch:
    """Tokens of a prompt: `count` of them, of which the first has the number `start` in its row."""

    row: int
    start: int
    count: int


@dataclass(frozen=True)
class Packing:
    """How a step's tokens lie: `lengths[i]` tokens of row i were there before the one that continues it."""

    slots: Slots
    lengths: torch.Tensor
    stretches: tuple[Stretch, ...]
    mask: torch.Tensor | None  # of the continued rows
    masks: tuple[torch.Tensor | None, ...]  # of the stretches; None: they begin their rows

    @classmethod
    def of(cls, slots: Slots, lengths: list[int], stretches: tuple[Stretch, ...]) -> Packing:
        before = torch.tensor(lengths, dtype=torch.long)
        mask = None
        if lengths:
            seen = torch.arange(max(lengths) + 1) <= before[:, None]
            mask = _additive(seen, slots.data.dtype)[:, None, None, :]
        return cls(slots, before, stretches, mask, tuple(_causal(one, slots.data.dtype) for one in stretches))


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    scaling: float,
    packing: Packing,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention interface: (1, heads, tokens, width) in, (1, tokens, heads, width) out."""
    keys, values = packing.slots.data[:, module.layer_idx]
    outputs = []
    done = len(packing.lengths)
    if done:
        outputs.append(_continue(query[0, :, :done], key[0, :, :done], value[0, :, :done], keys, values, scaling, packing))
    for stretch, mask in zip(packing.stretches, packing.masks, strict=True):
        here, upto = slice(done, done + stretch.count), stretch.start + stretch.count
        keys[stretch.row, :, stretch.start : upto] = key[0, :, here]
        values[stretch.row, :, stretch.start : upto] = value[0, :, here]
        groups = query.shape[1] // keys.shape[1]
        seen = attention(
            query[:, :, here],
            _repeat(keys[stretch.row : stretch.row + 1, :, :upto], groups),
            _repeat(values[stretch.row : stretch.row + 1, :, :upto], groups),
            attn_mask=mask,
            is_causal=mask is None,
            scale=scaling,
        )
        outputs.append(seen[0].transpose(0, 1))
        done += stretch.count
    return torch.cat(outputs)[None], None


def _continue(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float,
    packing: Packing,
) -> torch.Tensor:
    """One token a row: (heads, rows, width) in, (rows, heads, width) out."""
    rows, upto = torch.arange(len(packing.lengths)), int(packing.lengths.max()) + 1
    keys[rows, :, packing.lengths] = key.transpose(0, 1)
    values[rows, :, packing.lengths] = value.transpose(0, 1)
    heads, count, width = query.shape
    # Query heads that share a key head become several queries of it: nothing is repeated in memory.
    grouped = query.transpose(0, 1).reshape(count, keys.shape[1], heads // keys.shape[1], width)
    seen = attention(grouped, keys[:count, :, :upto], values[:count, :, :upto], attn_mask=packing.mask, scale=scaling)
    return seen.reshape(count, heads, width)


def _repeat(tensor: torch.Tensor, groups: int) -> torch.Tensor:
    return tensor if groups == 1 else tensor.repeat_interleave(groups, dim=1)


def _causal(stretch: Stretch, dtype: torch.dtype) -> torch.Tensor | None:
    if stretch.start == 0:
        return None
    place = torch.arange(stretch.start, stretch.start + stretch.count)
    return _additive(torch.arange(stretch.start + stretch.count) <= place[:, None], dtype)


def _additive(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, float("-inf"))
