"""Logging for every command: one line an event, to stderr, with secrets taken out wherever they might appear.

What comes from strangers (paths, page titles, a browser's last words) cannot begin a line of its own or drive a terminal.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Final

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
SHORTEST_SECRET: Final = 12  # characters; hiding a shorter text would take ordinary words and numbers along
_secrets: set[str] = set()
_control = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def hide(secret: str | None) -> None:
    """From now on this text is not written to any log, unless it is too short to be a secret."""
    if secret and len(secret) >= SHORTEST_SECRET:
        _secrets.add(secret)


class _Discreet(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in _secrets:
            text = text.replace(secret, "[hidden]")
        return text

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.message = _control.sub(lambda found: repr(found[0])[1:-1], record.message)
        return super().formatMessage(record)


def start(level: str = "INFO") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Discreet(FORMAT, "%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # It warns of every malformed request, which lets strangers fill the log.
    logging.getLogger("uvicorn").setLevel("ERROR")
