"""`python -m webgym.train.serving.embedded FOLDER [SETTINGS]`: the embedded server as a program.

SETTINGS is `EmbeddedSettings` as JSON. One line on stdout says where it listens, once it does. SIGTERM ends it: replies
under way get a moment, the rest is told to ask again.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn
from pydantic import ValidationError

from webgym import logs
from webgym.config import describe
from webgym.errors import ConfigError, WebGymError
from webgym.train.serving.child import ADDRESS, EXPECTED_FAILURE
from webgym.train.serving.settings import EmbeddedSettings, key_for

CLOSE_SECONDS = 2
KEEP_ALIVE_SECONDS = 75


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets
        host, port = sockets[0].getsockname()[:2]
        named = f"[{host}]" if ":" in host else host
        sys.stdout.write(f"{ADDRESS}http://{named}:{port}\n")
        sys.stdout.flush()


def serve(folder: Path, settings: EmbeddedSettings) -> int:
    """Until a signal ends it."""
    key = key_for(settings.host, settings.key_variable)
    with _listen(settings.host, settings.port) as listening:
        from webgym.train.serving.app import ModelApp
        from webgym.train.serving.engine import Engine
        from webgym.train.serving.prompt import Prompter
        from webgym.train.serving.weights import load, set_up_torch

        set_up_torch(settings.engine.threads)
        loaded = load(folder)
        prompter = Prompter(folder, loaded.image_token, settings.engine)
        with Engine(loaded, settings.engine) as engine:
            config = uvicorn.Config(
                ModelApp(engine, prompter, settings, key).app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=CLOSE_SECONDS,
            )
            _Server(config).run(sockets=[listening])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """Before the model is loaded: a port that is taken is said at once."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024)
    except OSError as e:
        raise ConfigError(f"cannot listen on {host}, port {port}: {e.strerror}") from e


def main(arguments: list[str]) -> int:
    logs.start("INFO")
    try:
        settings = EmbeddedSettings.model_validate_json(arguments[1]) if len(arguments) > 1 else EmbeddedSettings()
        return serve(Path(arguments[0]), settings)
    except ValidationError as e:
        sys.stderr.write(f"{describe(e)}\n")
    except WebGymError as e:
        sys.stderr.write(f"{e}\n")
    return EXPECTED_FAILURE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
