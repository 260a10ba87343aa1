"""What the judge asks: instructions of ours, everyone else's words behind fences, screenshots by number.

Invariant: no word that we did not write stands outside a fence, be it of the task, the rubric, a page, the agent or the
reference answer. Every such text has a cap, and one that was cut says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from webgym.endpoint import Data, Image, Message
from webgym.endpoint.messages import Part
from webgym.judge import prompts
from webgym.judge.evidence import Shot
from webgym.judge.foreign import foreign_words
from webgym.judge.reading import (
    ClaimsReply,
    FactsReply,
    Look,
    WholeReply,
    check_claims,
    check_facts,
    check_look,
    check_whole,
)
from webgym.types import Episode, Step, Task, Wire

INSTRUCTION_CAP: Final = 20_000
ANSWER_CAP: Final = 20_000
FACT_CAP: Final = 2_000
ADDRESS_CAP: Final = 200
TITLE_CAP: Final = 120
ACTION_CAP: Final = 300
MOST_STEPS: Final = 200

M = TypeVar("M", bound=Wire)


@dataclass(frozen=True)
class Question(Generic[M]):
    """What to say to a model, what may come back, and the version of the words."""

    messages: tuple[Message, ...]
    kind: type[M]
    check: Callable[[M], str | None]
    version: str


@dataclass(frozen=True)
class NumberedFact:
    number: int
    group: int
    text: str


def facts_of(task: Task) -> tuple[NumberedFact, ...]:
    """The rubric as a flat list, numbered from 1."""
    listed = [(group.id, fact) for group in task.groups for fact in group.facts]
    return tuple(NumberedFact(number, group, fact) for number, (group, fact) in enumerate(listed, start=1))


def look_question(task: Task, shots: Sequence[Shot]) -> Question[Look]:
    """The first look at a batch of screenshots."""
    names: tuple[prompts.Name, ...] = ("look", "blocking")
    shown = [(shot, shot.small) for shot in shots]
    user = Message("user", *_task(task), *_facts(facts_of(task)), *_screenshots(shown))
    return Question(_messages(names, user), Look, check_look([shot.number for shot in shots]), _version(names))


def claims_question(episode: Episode, shown: Sequence[tuple[Shot, Image]]) -> Question[ClaimsReply]:
    names: tuple[prompts.Name, ...] = ("orders", "blocking", "claims", "reference")
    check = check_claims(_numbers(shown), reference=episode.task.reference_answer is not None)
    return Question(_messages(names, _user(episode, (), shown, reference=True)), ClaimsReply, check, _version(names))


def facts_question(
    episode: Episode, facts: Sequence[NumberedFact], shown: Sequence[tuple[Shot, Image]]
) -> Question[FactsReply]:
    names: tuple[prompts.Name, ...] = ("facts",)
    check = check_facts([fact.number for fact in facts], _numbers(shown))
    return Question(_messages(names, _user(episode, facts, shown, reference=False)), FactsReply, check, _version(names))


def whole_question(
    episode: Episode, facts: Sequence[NumberedFact], shown: Sequence[tuple[Shot, Image]]
) -> Question[WholeReply]:
    """Claims, comparison and facts at once."""
    names: tuple[prompts.Name, ...] = ("orders", "blocking", "claims", "reference", "facts")
    reference = episode.task.reference_answer is not None
    check = check_whole([fact.number for fact in facts], _numbers(shown), reference=reference)
    return Question(_messages(names, _user(episode, facts, shown, reference=True)), WholeReply, check, _version(names))


def _messages(names: tuple[prompts.Name, ...], user: Message) -> tuple[Message, ...]:
    return Message("system", prompts.compose(*names)), user


def _version(names: tuple[prompts.Name, ...]) -> str:
    return f"judge.{prompts.version(*names)}"


def _numbers(shown: Sequence[tuple[Shot, Image]]) -> frozenset[int]:
    return frozenset(shot.number for shot, _ in shown)


def _user(
    episode: Episode, facts: Sequence[NumberedFact], shown: Sequence[tuple[Shot, Image]], *, reference: bool
) -> Message:
    task = episode.task
    said: list[Part] = [*_task(task), "The agent's answer:", Data(cut(episode.answer or "", ANSWER_CAP))]
    if reference and task.reference_answer is not None:
        said += ["The reference answer:", Data(cut(task.reference_answer, ANSWER_CAP))]
    said += _facts(facts)
    said += ["What the agent did, which proves nothing by itself:", Data(_history(episode, [shot for shot, _ in shown]))]
    return Message("user", *said, *_screenshots(shown))


def _task(task: Task) -> tuple[Part, ...]:
    return "The task:", Data(cut(task.instruction, INSTRUCTION_CAP))


def _facts(facts: Sequence[NumberedFact]) -> list[Part]:
    said: list[Part] = ["The facts of the rubric:"] if facts else []
    for fact in facts:
        said += [f"Fact {fact.number}:", Data(cut(fact.text, FACT_CAP))]
    return said


def _screenshots(shown: Sequence[tuple[Shot, Image]]) -> list[Part]:
    said: list[Part] = []
    for shot, image in shown:
        said += [f"Screenshot {shot.number}:", image]
    return said


def _history(episode: Episode, shown: Sequence[Shot]) -> str:
    numbers = {place: shot.number for shot in shown for place in shot.seen_at}
    lines = [_line(step, numbers.get(step.index)) for step in episode.steps[-MOST_STEPS:]]
    if (left_out := len(episode.steps) - len(lines)) > 0:
        lines.insert(0, f"({left_out} earlier steps are left out)")
    if (last := numbers.get(len(episode.steps))) is not None:
        lines.append(f"end: screenshot {last}, at {cut(episode.final_url, ADDRESS_CAP)}")
    return "\n".join(lines)


def _line(step: Step, screenshot: int | None) -> str:
    seen = f"screenshot {screenshot}, " if screenshot is not None else ""
    where = f"{cut(step.url, ADDRESS_CAP)} {cut(step.title, TITLE_CAP)!r}"
    failed = " (had no effect)" if step.error is not None else ""
    return f"step {step.index + 1}: {seen}at {where}: {_done(step)}{failed}"


def _done(step: Step) -> str:
    if step.action is not None:
        told = step.action.model_dump_json(exclude_defaults=True, exclude={"kind"})
        return f"{step.action.kind} {cut(told, ACTION_CAP)}"
    if (words := foreign_words(step)) is not None:
        return f"in the words of the agent's own system: {cut(words, ACTION_CAP)}"
    return "nothing: its reply could not be read"


def cut(text: str, cap: int) -> str:
    """At most so many characters, and a word about it if there were more."""
    return text if len(text) <= cap else f"{text[:cap]} [{len(text) - cap} more characters are left out]"
