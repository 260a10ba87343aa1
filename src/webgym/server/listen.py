"""Uvicorn as a part: a socket that listens while the block runs, with our caps, and without its signal handlers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from webgym.errors import ConfigError
from webgym.server.connections import capped
from webgym.server.settings import HttpLimits

BACKLOG = 1024
KEEP_ALIVE_SECONDS = 75
CLOSE_SECONDS = 5
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104


def near_url(host: str, port: int) -> str:
    """The address of a listener for processes of its own machine, which need not reach it by the name that clients use."""
    return _url("127.0.0.1" if host in EVERYWHERE else host, port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
        yield


class Listener:
    def __init__(self, app: ASGIApp, host: str, port: int, limits: HttpLimits) -> None:
        self.host = host
        self.port = port
        self._app = app
        self._limits = limits
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    def url(self, advertise: str | None = None) -> str:
        """The address for clients. Listening everywhere is no address: the machine's own name stands for it."""
        return _url(advertise or (socket.gethostname() if self.host in EVERYWHERE else self.host), self.port)

    async def __aenter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if self.host == "::" else 1)
            listening.bind((self.host, self.port))
        except OSError as e:
            listening.close()
            raise ConfigError(f"cannot listen on {self.host}:{self.port}: {e.strerror}; choose another --port") from e
        listening.listen(BACKLOG)
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            http=capped(self._limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=CLOSE_SECONDS,
            backlog=BACKLOG,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise ConfigError(f"the server at {self.host}:{self.port} ended at once")
            await asyncio.sleep(0.01)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._task is not None
        self._server.should_exit = True
        await asyncio.wait((self._task,), timeout=CLOSE_SECONDS + 2)
