"""Settings from YAML files and the command line, checked before anything heavy is imported.

`load(Model, arguments)` reads `--config FILE` first and lets every `--key value` (`--group.key value`) override it. What is
wrong is said in one line per field, with the field's name as the person wrote it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    CliApp,
    CliSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from webgym.errors import ConfigError

S = TypeVar("S", bound="Settings")


class Settings(BaseSettings):
    """Base of every command's settings. The environment is not read: what a run does is in its file and its command."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_avoid_json=True,
        cli_hide_none_type=True,
        cli_use_class_docs_for_groups=False,
        use_attribute_docstrings=False,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def load(kind: type[S], arguments: list[str], *, command: str) -> S:
    """Settings of a command; exits with help for `--help`, raises ConfigError for anything that does not fit."""
    arguments, file = _take_config(arguments)
    values = _read(kind, file) if file is not None else {}
    source: CliSettingsSource[Any] = CliSettingsSource(kind, cli_prog_name=command, cli_exit_on_error=False)
    source.root_parser.add_argument(
        "--config", metavar="FILE", help="a YAML file of these settings; an option counts over it"
    )
    try:
        return CliApp.run(kind, cli_args=arguments, cli_settings_source=source, cli_exit_on_error=False, **values)
    except ValidationError as e:
        raise ConfigError(describe(e)) from e
    except SettingsError as e:
        raise ConfigError(f"{e}. See `{command} --help`") from e


def describe(error: ValidationError) -> str:
    """One line per wrong field."""
    lines = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"]) or "settings"
        if problem["type"] == "extra_forbidden":  # what stands there may be a secret that belongs elsewhere
            lines.append(f"{name}: there is no such setting")
            continue
        if problem["type"] == "missing":
            lines.append(f"{name}: it must be given")
            continue
        # A group of settings is not repeated: a secret may stand in it, and the message names what it is about.
        got = "" if isinstance(problem["input"], dict) else f" (got {problem['input']!r:.80})"
        lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}{got}")
    return "\n".join(lines)


def _take_config(arguments: list[str]) -> tuple[list[str], Path | None]:
    named = [n for n, argument in enumerate(arguments) if argument == "--config" or argument.startswith("--config=")]
    if not named:
        return arguments, None
    if len(named) > 1:
        raise ConfigError("--config is given more than once: name one file")
    n = named[0]
    if arguments[n] != "--config":
        return arguments[:n] + arguments[n + 1 :], Path(arguments[n].removeprefix("--config="))
    if n + 1 == len(arguments):
        raise ConfigError("--config needs the name of a YAML file")
    return arguments[:n] + arguments[n + 2 :], Path(arguments[n + 1])


class _Once(yaml.SafeLoader):
    """YAML in which no name stands twice in one place: of two groups of one name, the first would silently be lost."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if (key.tag, key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} is there twice", problem_mark=key.start_mark)
            seen.add((key.tag, key.value))
        return node


def _wrong(error: Exception) -> str:
    """What is wrong with a file, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())


def _read(kind: type[Settings], path: Path) -> dict[str, Any]:
    try:
        found = yaml.load(path.read_text("utf-8"), _Once)  # noqa: S506 - a safe loader
    except OSError as e:
        raise ConfigError(f"cannot read {path}: {e.strerror}") from e
    except (yaml.YAMLError, ValueError) as e:  # the latter: bytes that are no text, a date that is none
        raise ConfigError(f"{path} is not YAML: {_wrong(e)}") from e
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold settings by name, not a {type(found).__name__}")
    if unknown := [name for name in found if name not in kind.model_fields]:
        raise ConfigError("\n".join(f"{name}: there is no such setting" for name in unknown))
    return found
