"""Samples on disk: what is read is what was written, and a file is whole or not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from webgym.errors import Damaged, StoreError
from webgym.store.samples import Sample, SampleFile, read_samples, write_samples
from webgym.types import ImagePart, Reply, TextPart, Turn


def sample(n: int) -> Sample:
    reply = Reply(text=f"réponse {n}", model="m")
    if n % 2:
        reply = reply.model_copy(update={"prompt_token_ids": (1, 2, n), "token_ids": (3, 4), "logprobs": (-0.5, -1.25)})
    picture = ImagePart(sha256=f"{n:064x}")
    return Sample(
        episode=f"{n:032x}",
        step=n,
        task=f"task-{n}",
        website="http://shop.localhost",
        iteration=n,
        prompt=(
            Turn(role="system", parts=(TextPart(text="You operate a browser."),)),
            Turn(role="user", parts=(TextPart(text=""), picture)),
        ),
        reply=reply,
        advantage=-0.5 if n % 3 else 1.0,
        group=f"g{n}",
    )


def test_samples_are_read_as_they_were_written_also_one_by_one(tmp_path: Path) -> None:
    written = [sample(n) for n in range(40)]
    assert write_samples(tmp_path / "new" / "samples.parquet", iter(written)) == 40
    assert list(read_samples(tmp_path / "new" / "samples.parquet")) == written
    with SampleFile(tmp_path / "new" / "samples.parquet") as file:
        assert [file[n] for n in (39, 0, 17, 16, 15)] == [written[n] for n in (39, 0, 17, 16, 15)]
        with pytest.raises(IndexError, match="40 samples"):
            file[40]


def test_samples_of_the_first_version_are_still_read() -> None:
    assert list(read_samples(Path(__file__).parent / "version1" / "samples.parquet")) == [sample(n) for n in range(3)]


def test_a_sample_says_whether_its_text_was_put_together(tmp_path: Path) -> None:
    rebuilt = sample(0).model_copy(update={"reply": Reply(text="<think>\nHm.\n</think>", rebuilt=True)})
    write_samples(tmp_path / "samples.parquet", [rebuilt, sample(1)])
    assert [one.reply.rebuilt for one in read_samples(tmp_path / "samples.parquet")] == [True, False]


def test_a_writer_that_dies_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "samples.parquet"
    write_samples(path, [sample(1)])

    def broken() -> Iterator[Sample]:
        yield from (sample(n) for n in range(20))
        raise RuntimeError("the disk of the run is gone")

    with pytest.raises(RuntimeError, match="is gone"):
        write_samples(path, broken())
    assert list(read_samples(path)) == [sample(1)]
    assert [found.name for found in tmp_path.iterdir()] == ["samples.parquet"]


def test_no_samples_are_a_file_without_rows(tmp_path: Path) -> None:
    assert write_samples(tmp_path / "none.parquet", []) == 0
    assert list(read_samples(tmp_path / "none.parquet")) == []


def test_a_flipped_byte_is_damage_and_another_file_is_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "samples.parquet"
    write_samples(path, [sample(n) for n in range(20)])
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(Damaged):
        list(read_samples(path))
    path.write_bytes(b"not parquet at all")
    with pytest.raises(Damaged, match="no file of samples"):
        list(read_samples(path))
    with pytest.raises(StoreError, match="reading"):
        list(read_samples(tmp_path / "missing.parquet"))
