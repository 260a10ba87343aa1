"""Rows of keys and values: they grow and move without loss, and attention sees its own row alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from webgym.train.serving.slots import Packing, Slots, Stretch, attend

WIDTH = 8


def new_slots(heads: int = 2) -> Slots:
    return Slots(layers=1, heads=heads, width=WIDTH, dtype=torch.float32)


def test_growing_keeps_what_is_there():
    slots = new_slots()
    slots.reserve(1, 4)
    slots.data[:, :, 0, :, :4] = torch.randn(2, 1, 2, 4, WIDTH)
    before = slots.copy(0, 4)
    slots.reserve(3, 5000)
    assert slots.rows >= 3
    assert slots.length >= 5000
    assert torch.equal(slots.copy(0, 4), before)


def test_the_reckoned_size_is_the_size():
    slots = new_slots()
    said = slots.bytes_for(3, 300)
    slots.reserve(3, 300)
    assert slots.data.nbytes == said


def test_rows_can_be_moved_and_pasted():
    slots = new_slots()
    slots.reserve(3, 8)
    slots.data[:] = torch.randn_like(slots.data)
    kept = slots.copy(2, 5)
    slots.move(2, 0, 5)
    assert torch.equal(slots.copy(0, 5), kept)
    slots.paste(1, kept, 3)
    assert torch.equal(slots.copy(1, 3), kept[:, :, :, :3])


@pytest.mark.parametrize("heads", [2, 4, 8])
def test_every_token_sees_its_own_row_up_to_itself_and_nothing_else(heads: int):
    torch.manual_seed(heads)
    queries, slots = 8, new_slots(heads)
    slots.reserve(4, 64)
    slots.data[:] = torch.randn_like(slots.data)  # leftovers of others, which must not be seen
    history = {row: torch.randn(2, heads, length, WIDTH) for row, length in {0: 5, 1: 9, 2: 0, 3: 6}.items()}
    for row, old in history.items():
        slots.data[:, 0, row, :, : old.shape[2]] = old
    stretches = (Stretch(2, 0, 4), Stretch(3, 6, 3))
    packing = Packing.of(slots, [5, 9], stretches)
    query, key, value = torch.randn(1, queries, 9, WIDTH), *(torch.randn(1, heads, 9, WIDTH) for _ in range(2))
    module: Any = SimpleNamespace(layer_idx=0)
    out, _ = attend(module, query, key, value, None, scaling=0.3, packing=packing)
    at = 0
    for row, count in ((0, 1), (1, 1), (2, 4), (3, 3)):
        keys = torch.cat([history[row][0], key[0, :, at : at + count]], dim=1).repeat_interleave(queries // heads, 0)
        values = torch.cat([history[row][1], value[0, :, at : at + count]], dim=1).repeat_interleave(queries // heads, 0)
        old = history[row].shape[2]
        for n in range(count):
            upto = old + n + 1
            weights = (query[0, :, at + n, None] @ keys[:, :upto].transpose(1, 2) * 0.3).softmax(-1)
            assert torch.allclose(out[0, at + n], (weights @ values[:, :upto])[:, 0], atol=1e-5), (row, n)
        at += count
