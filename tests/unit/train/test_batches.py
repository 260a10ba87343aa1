"""Order, batches and their tensors."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText

from tests.unit.train.learning import make_images, make_sample
from webgym.errors import Damaged
from webgym.train.batches import Collator, ahead, cut, endless, held_back
from webgym.train.encoding import Encoder, ImageFolders, load_processor
from webgym.train.objectives import token_logprobs


def test_an_epoch_is_a_permutation_and_a_position_says_all() -> None:
    whole = list(islice(endless(7, seed=3), 21))
    assert [sorted(whole[n : n + 7]) for n in (0, 7, 14)] == [list(range(7))] * 3
    assert whole[:7] != whole[7:14]
    assert list(islice(endless(7, seed=3, start=10), 11)) == whole[10:]


def test_batches_hold_what_was_chosen_once_with_like_lengths_together() -> None:
    lengths = [5, 50, 6, 49, 7, 48, 8, 47]
    parts = [cut(range(8), lengths, 2, processes=2, mine=mine) for mine in (0, 1)]
    assert parts == [[[1, 3], [6, 4]], [[5, 7], [2, 0]]]


def test_a_task_is_held_back_whole_and_about_as_often_as_asked() -> None:
    held = [held_back(f"task-{n}", 0.2, seed=1) for n in range(2_000)]
    assert sum(held) == pytest.approx(400, abs=80)
    assert not any(held_back(f"task-{n}", 0.0, seed=1) for n in range(100))


@pytest.fixture
def parts(model: Path, tmp_path: Path):
    processor, folders = load_processor(model), ImageFolders([tmp_path / "images"])
    images = make_images(tmp_path / "images")
    encoder = Encoder(processor, folders)
    rows = [encoder.encode(make_sample(images, n)) for n in range(4)]
    return Collator(processor, folders), rows, images


@torch.no_grad()
def test_padding_changes_nothing_and_the_loss_is_that_of_the_model_itself(parts, model: Path) -> None:
    collator, rows, _ = parts
    network = AutoModelForImageTextToText.from_pretrained(model).eval()
    assert len({len(row) for row in rows}) > 1
    batch = collator.collate(rows)
    together = token_logprobs(network(**batch.inputs).logits, batch)
    alone = []
    for row in rows:
        single = collator.collate([row])
        alone.append(token_logprobs(network(**single.inputs).logits, single))
        labels = single.inputs["input_ids"].clone()
        labels[:, : -row.reply] = -100
        known = network(**{**single.inputs, "logits_to_keep": 0}, labels=labels).loss
        torch.testing.assert_close(-alone[-1].mean(), known)
    torch.testing.assert_close(together, torch.cat(alone), atol=2e-5, rtol=1e-4)


def test_batches_are_the_same_with_room_for_one_image_as_for_all(parts, model: Path, tmp_path: Path) -> None:
    roomy, rows, _ = parts
    narrow = Collator(load_processor(model), ImageFolders([tmp_path / "images"]), cache_bytes=1)
    narrow.collate(rows[:1])
    for batch in ([*rows[1:], rows[0]], rows, rows[::-1]):  # what was kept meets fresh images that take its room
        found, expected = narrow.collate(batch), roomy.collate(batch)
        torch.testing.assert_close(found.inputs["pixel_values"], expected.inputs["pixel_values"], rtol=0, atol=0)


def test_an_image_that_is_not_its_names_bytes_is_never_trained_on(parts) -> None:
    collator, rows, images = parts
    images.path(rows[0].images[0]).write_bytes(images.get(rows[1].images[1]))
    with pytest.raises(Damaged, match="bytes"):
        collator.collate(rows[:1])


def test_rows_made_ahead_keep_their_order_and_errors_arrive() -> None:
    assert list(ahead(range(50))) == list(range(50))

    def broken():
        yield 1
        raise KeyError("gone")

    made = ahead(broken())
    assert next(made) == 1
    with pytest.raises(KeyError, match="gone"):
        next(made)
