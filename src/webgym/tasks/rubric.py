"""Rubrics: a model turns a seed into groups of facts, or the seed is quarantined with the reason.

A task leaves here only with facts that are not empty, not repeated, and filed under a known subject; its difficulty is
their number by definition. A rubric that the source brought is kept and held to the same rules; the model is then asked for
the subject alone, and only if the source did not name one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final, Literal

from webgym.endpoint import Endpoint, Message
from webgym.endpoint.transport import OF_THE_REQUEST
from webgym.errors import EndpointRefused, UnusableReply
from webgym.tasks.prompts import Prompt, fenced, prompt
from webgym.tasks.question import Question
from webgym.tasks.seed import Seed
from webgym.tasks.taxonomy import DOMAINS, mistake
from webgym.types import FactGroup, Provenance, Task, Wire

MAX_GROUPS: Final = 40
MAX_FACTS: Final = 120
MAX_FACT_CHARACTERS: Final = 1_000
INSTRUCTION_CAP: Final = 20_000
HINTS_CAP: Final = 4_000


class WrittenGroup(Wire):
    description: str
    facts: tuple[str, ...]


class WrittenRubric(Wire):
    """What the model is asked for."""

    groups: tuple[WrittenGroup, ...]
    domain: str
    subdomain: str


class WrittenSubject(Wire):
    domain: str
    subdomain: str


class Quarantined(Wire):
    """A seed, or a child of one, that became no task. Only its name is kept: the text is in the source."""

    id: str
    source: str
    file: str = ""
    line: int | None = None
    stage: Literal["rubric", "subject", "child"]
    fault: str
    reason: str


def fact_problem(groups: Iterable[WrittenGroup | FactGroup]) -> str | None:
    """What is wrong with groups of facts, or None."""
    listed = tuple(groups)
    if not listed:
        return "There is no group of facts."
    if len(listed) > MAX_GROUPS or sum(len(group.facts) for group in listed) > MAX_FACTS:
        return f"There are more than {MAX_GROUPS} groups or {MAX_FACTS} facts."
    seen: dict[str, str] = {}
    for number, group in enumerate(listed, 1):
        if not group.facts:
            return f"Group {number} has no facts."
        for fact in group.facts:
            if not (bare := _bare(fact)):
                return f"Group {number} has an empty fact."
            if len(fact) > MAX_FACT_CHARACTERS:
                return f"A fact of group {number} is longer than {MAX_FACT_CHARACTERS} characters."
            if bare in seen:
                return f"The fact {fact.strip()[:200]!r} appears twice."
            seen[bare] = fact
    return None


def rubric_problem(written: WrittenRubric) -> str | None:
    """What is wrong with a rubric, in words its writer can act on, or None."""
    for number, group in enumerate(written.groups, 1):
        if not _bare(group.description):
            return f"Group {number} has no description."
    return fact_problem(written.groups) or subject_problem(written)


def subject_problem(written: WrittenRubric | WrittenSubject) -> str | None:
    wrong = mistake(written.domain, written.subdomain)
    return None if wrong is None else f"{wrong[0].upper()}{wrong[1:]}. Use the names of the list exactly."


def rubric_question(seed: Seed) -> Question[WrittenRubric]:
    """The question for a seed's rubric. The reference answer stays out, so that no fact can give it away."""
    hints = "\n".join(f"- {hint}" for hint in seed.hints)
    about = f"\n\nNotes of the source on how it may be done or checked:\n{fenced(hints, HINTS_CAP)}" if hints else ""
    asked = prompt("rubric")
    return Question(asked, _messages(asked, f"{_described(seed)}{about}"), WrittenRubric, rubric_problem)


def subject_question(seed: Seed) -> Question[WrittenSubject]:
    """The question for the subject of a seed that has a rubric."""
    asked = prompt("classify")
    return Question(asked, _messages(asked, _described(seed)), WrittenSubject, subject_problem)


def needs(seed: Seed) -> Literal["rubric", "subject", "nothing"]:
    """What the model must be asked for."""
    if not seed.groups:
        return "rubric"
    return "subject" if mistake(seed.domain, seed.subdomain) is not None else "nothing"


async def write(seed: Seed, model: Endpoint) -> Task | Quarantined:
    """The task that a seed becomes, or why it becomes none. An endpoint that is down is neither: that raises."""
    if seed.groups and (problem := fact_problem(seed.groups)) is not None:
        return quarantined(seed, "rubric", "source", problem)
    needed = needs(seed)
    if needed == "nothing":
        return task_of(seed)
    try:
        if needed == "subject":
            return task_of(seed, subject=await subject_question(seed).ask(model))
        question = rubric_question(seed)
        # The name asked for, not the one the endpoint reports: that may change under way, and the file must not.
        return task_of(seed, rubric=await question.ask(model), model=model.settings.model, version=question.prompt.version)
    except (UnusableReply, EndpointRefused) as e:
        return quarantined(seed, needed, fault_of(e), str(e))


def fault_of(error: UnusableReply | EndpointRefused) -> str:
    """The short name of a failure that concerns one question; one that concerns them all is raised again."""
    if isinstance(error, UnusableReply):
        return error.fault
    if error.status not in OF_THE_REQUEST:
        raise error
    return f"status {error.status}"


def task_of(
    seed: Seed,
    *,
    rubric: WrittenRubric | None = None,
    subject: WrittenSubject | None = None,
    model: str = "",
    version: str = "",
) -> Task:
    """A seed and what was written for it; what was not written the source has brought."""
    groups = seed.groups
    if rubric is not None:
        groups = tuple(
            FactGroup(id=number, description=_tidy(group.description), facts=tuple(map(_tidy, group.facts)))
            for number, group in enumerate(rubric.groups, 1)
        )
    filed = rubric or subject or seed
    return Task(
        id=seed.id,
        source=seed.source,
        instruction=seed.instruction,
        website=seed.website,
        domain=filed.domain,
        subdomain=filed.subdomain,
        groups=groups,
        reference_answer=seed.reference_answer,
        parent_id=seed.parent_id,
        provenance=Provenance(
            file=seed.file, line=seed.line, licence=seed.licence, rubric_model=model, rubric_version=version
        ),
    )


def quarantined(seed: Seed | Task, stage: Literal["rubric", "subject", "child"], fault: str, reason: str) -> Quarantined:
    file, line = (seed.file, seed.line) if isinstance(seed, Seed) else (seed.provenance.file, seed.provenance.line)
    return Quarantined(
        id=seed.id, source=seed.source, file=file, line=line, stage=stage, fault=fault, reason=" ".join(reason.split())[:600]
    )


def _messages(asked: Prompt, text: str) -> tuple[Message, ...]:
    return Message("system", asked.text.replace("{taxonomy}", _taxonomy())), Message("user", text)


def _described(seed: Seed) -> str:
    where = f"\n\nWebsite:\n{fenced(seed.website, 300)}" if seed.website else ""
    return f"Task:\n{fenced(seed.instruction, INSTRUCTION_CAP)}{where}"


@cache
def _taxonomy() -> str:
    return "\n".join(f"- {domain}: {' / '.join(inside)}" for domain, inside in DOMAINS.items())


def _tidy(text: str) -> str:
    """One line of visible characters."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def _bare(text: str) -> str:
    """What makes two facts the same: their words, whatever case and punctuation."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
