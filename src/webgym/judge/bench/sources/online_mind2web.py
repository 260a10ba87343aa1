"""Online-Mind2Web: trajectories as its judge WebJudge reads them, and what people said of them.

    FOLDER/<task_id>/result.json     the task, the actions, the final answer
    FOLDER/<task_id>/trajectory/     screenshots, numbered
    human_label.json                 a list, or JSON lines: task_id, confirmed_task, <Agent>_human_label: 0, 1 or 2

A result has one of two forms. The first has `task`, `action_history` (texts) and `final_result_response`, and its
screenshots are the files in the order of the first number in their names. The second (`schema_version: online-mind2web-v2`)
has `agent_final_answer` and an `action_history` of records `step, screenshot, url, action, thought`, the last of which is
the answer.

Label 2 means that the task could not be executed: left out. A label for another wording of the task is a fault, for tasks
have been replaced under the same id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from webgym.errors import ConfigError
from webgym.judge.bench.importing import Fault, Found, LeftOut, Moment, Record, problems

SUFFIX: Final = "_human_label"
ENDING: Final = "TASK_COMPLETE"
MAX_JSON: Final = 64 << 20
MAX_PICTURE: Final = 64 << 20
_ID: Final = re.compile(r"[\w-][\w.-]{0,99}")
_PICTURES: Final = (".png", ".jpg", ".jpeg")


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)


class _Label(_Told):
    task_id: str
    confirmed_task: str | None = None


class _Form(_Told):
    """Which form a result has."""

    schema_version: str | None = None


class _First(_Told):
    task: Annotated[str, Field(min_length=1)]
    action_history: list[str] = []
    final_result_response: str | None = None


class _Action(_Told):
    step: int
    screenshot: str
    action: str
    url: str | None = None


class _Second(_Told):
    schema_version: Literal["online-mind2web-v2"]
    task: Annotated[str, Field(min_length=1)]
    agent_final_answer: str | None = None
    action_history: Annotated[list[_Action], Field(min_length=1)]


class _Broken(Exception):
    """A part of a record cannot be read."""


class OnlineMind2Web:
    """One agent's trajectories and the people's labels for that agent."""

    name = "online-mind2web"
    licence = "CC-BY-4.0"

    def __init__(self, folder: Path, labels: Path, agent: str) -> None:
        self._folder, self._labels, self._agent = folder, labels, agent

    @property
    def truth(self) -> str:
        return f"people of {self.name} on {self._agent}"

    def records(self) -> Iterator[Found]:
        if not self._folder.is_dir():
            raise ConfigError(f"{self._folder} is no folder of trajectories")
        for where, told in self._labelled():
            try:
                yield self._record(where, told)
            except _Broken as e:
                yield Fault(where, str(e))

    def _labelled(self) -> Iterator[tuple[str, object]]:
        """Every label as it stands, with its place in the file."""
        try:
            if self._labels.stat().st_size > MAX_JSON:
                raise ConfigError(f"{self._labels} is larger than {MAX_JSON >> 20} MB")
            data = self._labels.read_bytes()
        except OSError as e:
            raise ConfigError(f"reading {self._labels}: {e.strerror}") from e
        name = self._labels.name
        if data.lstrip()[:1] == b"[":
            try:
                listed = msgspec.json.decode(data, type=list[object])
            except msgspec.DecodeError as e:
                raise ConfigError(f"{self._labels} is no JSON list: {e}") from e
            yield from ((f"{name}, record {number}", told) for number, told in enumerate(listed, 1))
            return
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                try:
                    yield f"{name}:{number}", msgspec.json.decode(line)
                except msgspec.DecodeError:
                    yield f"{name}:{number}", None

    def _record(self, where: str, told: object) -> Found:
        if not isinstance(told, dict):
            raise _Broken("is no JSON object")
        try:
            label = _Label.model_validate({name: told[name] for name in _Label.model_fields if name in told})
        except ValidationError as e:
            raise _Broken(problems(e)) from e
        verdict = self._verdict(told)
        if not _ID.fullmatch(label.task_id):
            raise _Broken(f"task_id {label.task_id[:40]!r} cannot be the name of a folder")
        folder = self._folder / label.task_id
        if verdict == "2":
            return LeftOut(where, "people call it not executable")
        if not (folder / "result.json").is_file():
            return LeftOut(where, f"there is no {label.task_id}/result.json")
        task, moments, answer = _trajectory(folder)
        if label.confirmed_task is not None and _plain(label.confirmed_task) != _plain(task):
            raise _Broken(f"the label is for another wording of the task than {label.task_id}/result.json has")
        if not any(moment.picture for moment in moments):
            return LeftOut(where, "it has no screenshots")
        website = next((moment.url for moment in moments if moment.url), "")
        reward: Literal[0, 1] = 1 if verdict == "1" else 0
        return Record(where, label.task_id, task, website, self._agent, moments, answer, reward, f"people's label {verdict}")

    def _verdict(self, told: dict[object, object]) -> str:
        name = self._agent + SUFFIX
        if name not in told:
            known = sorted(str(key).removesuffix(SUFFIX) for key in told if str(key).endswith(SUFFIX))
            raise _Broken(f"has no {name}; it has labels for {', '.join(known) or 'nobody'}")
        value = told[name]
        found = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if found not in ("0", "1", "2"):
            raise _Broken(f"{name} is {value!r:.40}, not 0, 1 or 2")
        return found


def _trajectory(folder: Path) -> tuple[str, tuple[Moment, ...], str | None]:
    """The task, what happened, and the final answer."""
    path = folder / "result.json"
    data = _bytes(path, MAX_JSON)
    try:
        if _Form.model_validate_json(data).schema_version is not None:
            return _second(folder, _Second.model_validate_json(data))
        return _first(folder, _First.model_validate_json(data))
    except ValidationError as e:
        raise _Broken(f"{folder.name}/{path.name}: {problems(e)}") from e


def _first(folder: Path, told: _First) -> tuple[str, tuple[Moment, ...], str | None]:
    pictures = [_bytes(path, MAX_PICTURE) for path in _numbered(folder / "trajectory")]
    moments = []
    for place in range(max(len(pictures), len(told.action_history))):
        picture = pictures[place] if place < len(pictures) else None
        words = told.action_history[place] if place < len(told.action_history) else ""
        moments.append(Moment(picture, words))
    return told.task, tuple(moments), told.final_result_response or None


def _second(folder: Path, told: _Second) -> tuple[str, tuple[Moment, ...], str | None]:
    moments = []
    for place, action in enumerate(told.action_history):
        if action.step != place:
            raise _Broken(f"{folder.name}/result.json: action {place} calls itself step {action.step}")
        if Path(action.screenshot).name != action.screenshot or not action.screenshot:
            raise _Broken(f"{folder.name}/result.json: step {place} names {action.screenshot[:40]!r}, which is no file name")
        words = "" if action.action.startswith(ENDING) else action.action
        moments.append(Moment(_bytes(folder / "trajectory" / action.screenshot, MAX_PICTURE), words, action.url or ""))
    return told.task, tuple(moments), told.agent_final_answer or None


def _numbered(folder: Path) -> list[Path]:
    """Screenshots in the order of the first number in their names."""
    if not folder.is_dir():
        return []
    found = []
    for path in folder.iterdir():
        if path.suffix.lower() in _PICTURES:
            number = re.search(r"\d+", path.name)
            if number is None:
                raise _Broken(f"{folder.parent.name}/trajectory/{path.name} has no number: its place is unknown")
            found.append((int(number.group()), path.name, path))
    return [path for _, _, path in sorted(found)]


def _bytes(path: Path, most: int) -> bytes:
    where = "/".join(path.parts[-3:] if path.parent.name == "trajectory" else path.parts[-2:])
    try:
        if path.stat().st_size > most:
            raise _Broken(f"{where} is larger than {most >> 20} MB")
        return path.read_bytes()
    except OSError as e:
        raise _Broken(f"{where}: {e.strerror}") from e


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
