"""HTTP without a client library: bytes out, bytes in, so that nothing odd is repaired on its way."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """What came back until the other side closed or fell silent."""

    data: bytes
    closed: bool
    seconds: float

    @property
    def statuses(self) -> list[int]:
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", self.data)]

    @property
    def status(self) -> int:
        return self.statuses[0] if self.statuses else 0

    @property
    def text(self) -> str:
        return self.data.decode("latin-1")

    @property
    def error(self) -> Any:
        return json.loads(self.data.partition(b"\r\n\r\n")[2])["error"]


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def send(url: str, pieces: bytes | Iterable[bytes], *, within: float = 5.0) -> Answer:
    """Send all pieces, or as many as are taken, and listen until the end or for `within` seconds of silence."""
    began = time.monotonic()
    data = b""
    with connect(url) as sock:
        sock.settimeout(within)
        with contextlib.suppress(ConnectionError, TimeoutError):
            for piece in [pieces] if isinstance(pieces, bytes) else pieces:
                sock.sendall(piece)
        try:
            while received := sock.recv(65536):
                data += received
            closed = True
        except TimeoutError:
            closed = False
        except ConnectionError:
            closed = True
    return Answer(data, closed, time.monotonic() - began)


def request(method: str, path: str, *headers: str, body: bytes = b"", key: str | None = None, end: bool = True) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if key is not None:
        lines.append(f"X-API-Key: {key}")
    if end:
        lines.append("Connection: close")
    if body and not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
