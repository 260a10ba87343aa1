"""`webgym model serve FOLDER`: the embedded server in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from webgym import logs
from webgym.config import Settings, load
from webgym.errors import ConfigError
from webgym.train.serving.endpoint import check_checkpoint
from webgym.train.serving.settings import KEY_VARIABLE, EmbeddedSettings, EngineSettings, HttpSettings, Name, Port


class ModelServeSettings(Settings):
    """Where the server listens and what it may take."""

    host: str = Field("127.0.0.1", description=f"off loopback, {KEY_VARIABLE} must hold a key")
    port: Port = Field(8000, description="0: any free one")
    model: Name = Field("policy", description="the name that requests give")
    engine: EngineSettings = EngineSettings()
    http: HttpSettings = HttpSettings()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


def run_serve(arguments: list[str]) -> int:
    if "--help" in arguments or "-h" in arguments:
        arguments, folder = ["--help"], None
    elif not arguments or arguments[0].startswith("-"):
        raise ConfigError("name the checkpoint's folder first: webgym model serve FOLDER [options]")
    else:
        folder, arguments = Path(arguments[0]), arguments[1:]
    settings = load(ModelServeSettings, arguments, command="webgym model serve FOLDER")
    assert folder is not None, "help has ended the command"
    logs.start(settings.log_level)
    from webgym.train.serving.embedded import serve

    told = settings.model_dump(exclude={"log_level"})
    return serve(check_checkpoint(folder), EmbeddedSettings.model_validate(told))
