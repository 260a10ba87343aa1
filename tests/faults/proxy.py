"""A TCP proxy that mistreats connections on request: it delays, drops, cuts and throttles.

    async with BadNetwork(host, port) as network:
        network.cut_answers = True       # the request goes through, the answer does not come back

Faults apply to what passes from the moment they are set, on old connections too. Closing it ends every connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Self

CHUNK = 64 * 1024


class BadNetwork:
    def __init__(self, host: str, port: int) -> None:
        self.delay = 0.0  # seconds, for every piece in either direction
        self.bytes_per_second: float | None = None  # of each connection, each way
        self.drop = False  # swallow what is sent, in both directions, and keep the connections open
        self.refuse = False  # close new connections at once
        self.cut_requests = False  # close a connection when the client has sent something, and pass nothing on
        self.cut_answers = False  # pass requests on, and close the connection when the answer begins
        self.seen: Counter[str] = Counter()  # connections, cuts, bytes up and down
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None, "not running"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.hang_up()
        if self._connections:
            await asyncio.wait(self._connections, timeout=5)

    def hang_up(self) -> None:
        """End every connection there is."""
        for connection in self._connections:
            connection.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.seen["connections"] += 1
        try:
            if not self.refuse:
                await self._carry(reader, writer)
        except asyncio.CancelledError:
            pass  # only `hang_up` cancels: the connection is over, and nobody waits for this task's result
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            return
        up = asyncio.create_task(self._pump(reader, far_writer, "up"))
        down = asyncio.create_task(self._pump(far_reader, writer, "down"))
        try:
            # Either way's end is the connection's end: HTTP clients do not close half.
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in (up, down):
                way.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            far_writer.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, way: str) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(CHUNK):
                if self.cut_requests if way == "up" else self.cut_answers:
                    self.seen["cuts"] += 1
                    return
                self.seen[way] += len(piece)
                if self.drop:
                    continue
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._send(sink, piece)

    async def _send(self, sink: asyncio.StreamWriter, piece: bytes) -> None:
        if self.bytes_per_second is None:
            sink.write(piece)
            await sink.drain()
            return
        step = max(1, int(self.bytes_per_second / 20))
        for start in range(0, len(piece), step):
            sink.write(piece[start : start + step])
            await sink.drain()
            await asyncio.sleep(step / self.bytes_per_second)
