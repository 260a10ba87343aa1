"""What uvicorn writes, as it leaves for the client."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from webgym.server.connections import CappedHttp, _Lingering


class Wire:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def write(self, data: bytes) -> None:
        self.said.append(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.said.append(pieces)

    def is_closing(self) -> bool:
        return "closed" in self.said


class Protocol:
    """As much of a connection as its transport needs."""

    def __init__(self, wire: Wire) -> None:
        self.loop, self.lingering, self._wire = asyncio.get_running_loop(), False, wire

    def linger(self) -> None:
        self._wire.said.append("closed")


@pytest.fixture
async def wire() -> Wire:
    return Wire()


@pytest.fixture
async def transport(wire: Wire) -> _Lingering:
    return _Lingering(cast(CappedHttp, Protocol(wire)), cast(asyncio.Transport, wire))


async def test_the_head_of_an_answer_leaves_with_its_body(transport: _Lingering, wire: Wire):
    transport.write(b"head")
    transport.write(b"body")
    assert wire.said == [(b"head", b"body")]
    await asyncio.sleep(0)
    assert wire.said == [(b"head", b"body")]


async def test_a_head_without_a_body_leaves_when_everybody_has_had_a_turn(transport: _Lingering, wire: Wire):
    transport.write(b"head")
    assert wire.said == []
    await asyncio.sleep(0)
    assert wire.said == [b"head"]


async def test_what_is_held_leaves_before_the_end(transport: _Lingering, wire: Wire):
    transport.write(b"head")
    transport.close()
    assert wire.said == [b"head", "closed"]
    await asyncio.sleep(0)
    assert wire.said == [b"head", "closed"]


async def test_nothing_is_written_to_a_connection_that_went_meanwhile(transport: _Lingering, wire: Wire):
    transport.write(b"head")
    wire.said.append("closed")
    await asyncio.sleep(0)
    assert wire.said == ["closed"]
