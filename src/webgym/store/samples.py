"""What replay writes and every trainer reads: one row a reply to learn from, in one Parquet file.

The file appears whole under its name or not at all. Writing and reading stream: memory holds one group of rows, and images
are hashes throughout. `SampleFile` also reads single rows in any order, which is how a trainer makes its batches.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from webgym.errors import Damaged, NewerVersion
from webgym.store.columns import SCHEMA as EPISODE_SCHEMA
from webgym.store.files import trouble
from webgym.types import EpisodeId, Reply, Turn, Wire

Objective = Literal["filtered_bc", "reinforce", "grpo"]
"""What a sample is learned for: replay sets its advantage accordingly, a trainer its loss."""

VERSION: Final = 2  # the first had no `rebuilt` in its replies
_VERSION_KEY: Final = b"webgym.samples.version"
_GROUP: Final = 16  # rows decoded together: few enough for a batch in random order, enough to compress shared prompts
_WRITING: Final = MappingProxyType({"compression": "zstd", "write_page_checksum": True, "store_schema": False})
_SCHEMA: Final = pa.schema(
    [
        ("episode", pa.string()),
        ("step", pa.int64()),
        ("task", pa.string()),
        ("website", pa.string()),
        ("iteration", pa.int64()),
        ("prompt", EPISODE_SCHEMA.field("prompt").type),
        ("reply", EPISODE_SCHEMA.field("reply").type),
        ("advantage", pa.float64()),
        ("group", pa.string()),
    ]
)


class Sample(Wire):
    """One reply to learn from, with the prompt it answered."""

    episode: EpisodeId
    step: int = Field(ge=0)
    task: str
    website: str
    iteration: int = Field(ge=0)
    prompt: Annotated[tuple[Turn, ...], Field(min_length=1)] = Field(description="Exactly what was sent.")
    reply: Reply
    advantage: float = Field(1.0, description="How much more likely the reply should become; 1 for cloning.")
    group: str = Field("", description="The task and iteration whose episodes were compared.")


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write samples in the order they come; returns how many. A file of this name is replaced."""
    staging = path.with_name(f".{path.name}.{secrets.token_hex(4)}.staging")
    rest, count = iter(samples), 0
    with trouble(f"writing {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with staging.open("wb") as file:
                with pq.ParquetWriter(file, _SCHEMA, **_WRITING) as writer:
                    while rows := list(islice(rest, _GROUP)):
                        writer.write_table(pa.Table.from_pylist([row.model_dump() for row in rows], schema=_SCHEMA))
                        count += len(rows)
                    writer.add_key_value_metadata({_VERSION_KEY: str(VERSION).encode()})
                file.flush()
                os.fsync(file.fileno())
            staging.replace(path)
        finally:
            staging.unlink(missing_ok=True)
    return count


def read_samples(path: Path) -> Iterator[Sample]:
    """The samples of a file in their order, a group of rows in memory at a time."""
    with SampleFile(path) as file:
        yield from file


class SampleFile:
    """A file of samples by position. Close it, or use it in a `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with trouble(f"reading {path}"):
            try:
                self._file = pq.ParquetFile(path, page_checksum_verification=True)
            except pa.ArrowException as e:
                raise Damaged(f"{path} is no file of samples: {e}") from e
        version = (self._file.metadata.metadata or {}).get(_VERSION_KEY, b"")
        if not version.isdigit():
            self.close()
            raise Damaged(f"{path} is no file of samples")
        if int(version) > VERSION:
            self.close()
            raise NewerVersion(f"{path} is of version {int(version)}; this reads up to {VERSION}: use a later WebGym")
        self._group: tuple[int, list[Sample]] = (-1, [])

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def __getitem__(self, position: int) -> Sample:
        if not 0 <= position < len(self):
            raise IndexError(f"{self.path} has {len(self)} samples, and no number {position}")
        return self._rows(position // _GROUP)[position % _GROUP]

    def __iter__(self) -> Iterator[Sample]:
        for group in range(self._file.num_row_groups):
            yield from self._rows(group)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, group: int) -> list[Sample]:
        """One group of rows, kept until another is asked for."""
        if self._group[0] != group:
            try:
                rows = self._file.read_row_group(group, use_threads=False).to_pylist()
                self._group = (group, [_sample(row) for row in rows])
            except (pa.ArrowException, OSError, ValidationError) as e:
                raise Damaged(f"{self.path} is damaged: {e}") from e
        return self._group[1]


def _sample(row: dict[str, object]) -> Sample:
    prompt = row["prompt"]
    assert isinstance(prompt, list)
    for turn in prompt:
        turn["parts"] = [{name: value for name, value in part.items() if value is not None} for part in turn["parts"]]
    return Sample.model_validate(row)
