"""Logging for every command: one line an event, to stderr, with secrets taken out wherever they might appear."""

from __future__ import annotations

import logging
import sys

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_secrets: set[str] = set()


def hide(secret: str | None) -> None:
    """From now on this text is not written to any log."""
    if secret:
        _secrets.add(secret)


class _Discreet(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in _secrets:
            text = text.replace(secret, "[hidden]")
        return text


def start(level: str = "INFO") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Discreet(FORMAT, "%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel("WARNING")
