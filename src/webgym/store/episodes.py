"""Episode files: one Parquet file each, checked when read.

What is read is what was written, or it is `Damaged`: every page of the table carries a checksum, and the metadata a digest
of the episode's fields. A file of a later version is `NewerVersion`, whatever else is in it.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from webgym.errors import Damaged, NewerVersion
from webgym.store.columns import SCHEMAS, VERSION, step_values, to_table
from webgym.store.files import trouble
from webgym.types import Episode

_VERSION_KEY: Final = b"webgym.episode.version"
_FIELDS_KEY: Final = b"webgym.episode.fields"
_DIGEST_KEY: Final = b"webgym.episode.digest"
_NAME: Final = re.compile(r"[0-9a-f]{32}\.parquet")
_FOLDER: Final = re.compile(r"\d{6,}")
# A file is a few rows: dictionaries and statistics would cost more than they save, in time and in bytes. So would making
# the short columns shorter: each has a compressor of its own. LZ4 needs nothing set up for a column, and makes files a
# twentieth larger than zstd.
_LONG: Final = (
    "prompt.list.element.parts.list.element.text",
    "reply.text",
    "reply.prompt_token_ids.list.element",
    "reply.token_ids.list.element",
    "reply.logprobs.list.element",
    "visible",
    "arguments",
)
_WRITING: Final = MappingProxyType(
    {
        "compression": dict.fromkeys(_LONG, "lz4"),
        "use_dictionary": False,
        "write_statistics": False,
        "write_page_checksum": True,
        "store_schema": False,
    }
)


def encode(episode: Episode) -> bytes:
    """The bytes of an episode's file."""
    version, fields = str(VERSION).encode(), episode.model_dump_json(exclude={"steps"}).encode()
    notes = {_VERSION_KEY: version, _FIELDS_KEY: fields, _DIGEST_KEY: _digest(version, fields)}
    table = to_table(episode)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **_WRITING) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(notes)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def decode(data: bytes, path: Path) -> Episode:
    """The episode in a file's bytes; `path` is for the message."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        notes: dict[bytes, bytes] = file.metadata.metadata or {}
        version, fields = notes.get(_VERSION_KEY, b""), notes.get(_FIELDS_KEY, b"")
        if notes.get(_DIGEST_KEY) != _digest(version, fields):
            raise Damaged(f"{path}: the episode's fields are not what was written")
        if int(version) > VERSION:
            raise NewerVersion(f"{path} is of version {int(version)}; this reads up to {VERSION}: use a later WebGym")
        table = file.read(use_threads=False)
        if int(version) not in SCHEMAS or not table.schema.equals(SCHEMAS[int(version)]):
            raise Damaged(f"{path} has other columns than an episode of version {int(version)}")
        found = Episode.model_validate_json(fields[:-1] + b',"steps":[]}')
        return Episode.model_validate({**dict(found), "steps": tuple(step_values(table))})
    except (
        pa.ArrowException,
        OSError,
        ValueError,
    ) as e:  # Arrow's own words for a bad file; JSON, text and types that do not fit
        raise Damaged(f"{path} is no episode: {_first_line(e)}") from e


class Episodes:
    """The episode folder of a run: a folder an iteration, a file an episode."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, iteration: int, episode: str) -> Path:
        return self._folder / f"{iteration:06}" / f"{episode}.parquet"

    def read(self, path: Path) -> Episode:
        """The episode of a file, which must be the one its name says."""
        with trouble(f"reading {path}"):
            if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device, in a run from elsewhere, has no end
                raise Damaged(f"{path} is no file")
            data = path.read_bytes()
        episode = decode(data, path)
        if self.path(episode.iteration, episode.id) != path:
            raise Damaged(f"{path} holds episode {episode.id} of iteration {episode.iteration}")
        return episode

    def paths(self, iteration: int | None = None) -> Iterator[Path]:
        """Episode files in the order of iteration and id, listed a folder at a time."""
        for folder in self._folders() if iteration is None else [self._folder / f"{iteration:06}"]:
            if folder.is_dir():
                yield from sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))

    def strangers(self) -> Iterator[Path]:
        """What is here without being an episode's file."""
        for entry in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            if not (_FOLDER.fullmatch(entry.name) and entry.is_dir()):
                yield entry
                continue
            yield from sorted(path for path in entry.iterdir() if not _NAME.fullmatch(path.name))

    def _folders(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        found = [entry for entry in self._folder.iterdir() if _FOLDER.fullmatch(entry.name)]
        return sorted(found, key=lambda entry: int(entry.name))


def images_of(episode: Episode) -> set[str]:
    """Every image an episode refers to."""
    found = {step.screenshot for step in episode.steps} | {episode.final_screenshot}
    found |= {part.sha256 for step in episode.steps for turn in step.prompt for part in turn.parts if part.kind == "image"}
    return {sha256 for sha256 in found if sha256 is not None}


def _digest(version: bytes, fields: bytes) -> bytes:
    return hashlib.sha256(version + b"\n" + fields).hexdigest().encode()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
