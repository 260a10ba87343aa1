"""Replies on disk, by the hash of what was asked, so that nothing is paid for twice.

Invariants. An entry appears whole or not at all (written beside, then renamed), so processes may share a folder. An entry
that cannot be read, or whose digest does not fit, is a miss. A stored reply is not thereby a good one: the reader checks it
as if it had just arrived. The request itself is not stored, and neither is any key.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from pydantic import Field, ValidationError

from webgym.endpoint.messages import Message
from webgym.endpoint.settings import EndpointSettings
from webgym.types import Wire

log = logging.getLogger(__name__)

STALE: Final = 600.0


class StoredReply(Wire):
    """What a model answered, before anyone judged it."""

    model: str
    text: str
    refusal: str = ""
    finish: str = ""
    input: int = Field(0, ge=0)
    output: int = Field(0, ge=0)

    def digest(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Entry(Wire):
    digest: str
    reply: StoredReply


def key_of(settings: EndpointSettings, messages: Sequence[Message], schema: object, version: str) -> str:
    """What makes two questions the same: model, words and images, form, version of the prompt, sampling."""
    asked: list[Any] = [
        settings.model,
        [message.identity() for message in messages],
        schema,
        version,
        settings.sampling.model_dump(),
        settings.structure,
        settings.extra_body,
    ]
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()


class Cache:
    """A folder of replies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._staging = folder / ".staging"

    def get(self, key: str) -> StoredReply | None:
        try:
            entry = Entry.model_validate_json(self._path(key).read_bytes())
        except FileNotFoundError:
            return None
        except (ValidationError, OSError) as e:
            log.warning("stored reply %s cannot be read (%s): it will be asked for again", key[:12], type(e).__name__)
            return None
        if entry.digest != entry.reply.digest():
            log.warning("stored reply %s was changed on disk: it will be asked for again", key[:12])
            return None
        return entry.reply

    def put(self, key: str, reply: StoredReply) -> None:
        path, staged = self._path(key), self._staging / f"{key}.{os.getpid()}.{secrets.token_hex(4)}"
        entry = Entry(digest=reply.digest(), reply=reply).model_dump_json()
        try:
            try:
                staged.write_text(entry)
                staged.replace(path)
            except FileNotFoundError:  # the first entry of its folder
                self._staging.mkdir(parents=True, exist_ok=True)
                path.parent.mkdir(exist_ok=True)
                staged.write_text(entry)
                staged.replace(path)
        except OSError as e:  # the reply itself is good; only the next time will cost again
            staged.unlink(missing_ok=True)
            log.warning("a reply could not be stored in %s: %s", self.folder, e.strerror)

    def sweep(self) -> None:
        """Remove what killed writers left behind; the writing of an entry takes far less than `STALE` seconds."""
        for staged in self._staging.glob("*"):
            with suppress(FileNotFoundError):
                if time.time() - staged.stat().st_mtime > STALE:
                    staged.unlink()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
