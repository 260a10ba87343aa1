"""A real `webgym serve` to talk to: its address, its key, its processes and everything it wrote."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil

from tests.conftest import KEY

START_SECONDS = 60.0
END_SECONDS = 30.0
QUICK = {"settle.commit": 3, "settle.load": 3, "settle.quiet": 2, "settle.network": 2}


@dataclass
class Served:
    url: str
    key: str | None
    process: subprocess.Popen[bytes]
    log: Path
    out: Path
    _clients: list[aiohttp.ClientSession] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def written(self) -> str:
        return self.log.read_text() + self.out.read_text()

    def children(self) -> list[psutil.Process]:
        """The master first, then the workers, in the order of their start."""
        return sorted(psutil.Process(self.process.pid).children(), key=lambda child: child.create_time())

    def browsers(self) -> list[psutil.Process]:
        return [one for child in self.children() for one in child.children(recursive=True)]

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, within: float = END_SECONDS) -> int:
        return self.process.wait(within)


@contextmanager
def serving(folder: Path, key: str | None = KEY, **options: object) -> Iterator[Served]:
    """`webgym serve` with these options (`egress__allow="…"` is `--egress.allow …`); it is gone when the block ends."""
    arguments = {"port": 0, "sessions": 4, "browsers": 1, **QUICK, **options}
    command = [sys.executable, "-m", "webgym.cli", "serve"]
    for name, value in arguments.items():
        flag = name.replace("__", ".").replace("_", "-")
        if isinstance(value, bool):
            command.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            command += [f"--{flag}", str(value)]
    environment = {name: value for name, value in os.environ.items() if name != "WEBGYM_API_KEY"}
    if key is not None:
        environment["WEBGYM_API_KEY"] = key
    if os.geteuid() == 0:
        environment["WEBGYM_NO_SANDBOX"] = "1"
    folder.mkdir(parents=True, exist_ok=True)
    log, out = folder / "stderr", folder / "stdout"
    with log.open("wb") as errors, out.open("wb") as said:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdout is not None
            text = _until_address(process, said)
            address = re.search(r"address\s+(http://\S+)", text)
            shown = re.search(r"key\s+(\S+)", text)
            assert address is not None, f"it did not start: {text}{log.read_text()}"
            assert shown is not None
            yield Served(address[1], key or shown[1], process, log, out)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            said.write(process.stdout.read())
            process.stdout.close()


def _until_address(process: subprocess.Popen[bytes], said: object) -> str:
    """What it says up to the end of its panel."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    text, ends = "", time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while "/docs" not in text and time.monotonic() < ends and process.poll() is None:
            if selector.select(0.5):
                text += (process.stdout.read() or b"").decode()
    os.set_blocking(process.stdout.fileno(), True)
    said.write(text.encode())  # type: ignore[attr-defined]
    said.flush()  # type: ignore[attr-defined]
    return text
