"""Decomposition: a task with several things to do becomes smaller tasks that ask for some of them.

A task is eligible iff it has at least two groups, of which at least one is large (three facts or more). Its children are
the proper, non-empty subsets of its groups that contain at least one large group; in the stricter reading, the proper,
non-empty subsets of its large groups. Group sizes (3,1) (3,3) (3,1,1) (4,3,2) give 1, 2, 3, 5 children; strictly 1, 2, 1, 3.

The number doubles with every group, so it is capped: smaller subsets first, in the order of the groups. A child keeps the
groups as they are, names its parent, and gets an instruction of its own from the model; the parent's reference answer is
not the answer to the child.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from webgym.endpoint import Endpoint, Message
from webgym.errors import EndpointRefused, UnusableReply
from webgym.tasks.prompts import fenced, prompt
from webgym.tasks.question import Question
from webgym.tasks.rubric import Quarantined, fault_of, quarantined
from webgym.types import FactGroup, Task, Wire

LARGE: Final = 3  # facts
ID_CAP: Final = 200
INSTRUCTION_CAP: Final = 8_000
FACTS_CAP: Final = 40_000

Reading = Literal["with_a_large_group", "large_groups_only"]
Places = tuple[int, ...]


class DecomposeSettings(BaseModel):
    """How tasks are taken apart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    reading: Reading = Field("with_a_large_group", description="Which subsets of groups become children.")
    max_children: Annotated[int, Field(ge=1, le=10_000)] = Field(64, description="Children of one task at most.")


class WrittenChild(Wire):
    """What the model is asked for."""

    instruction: str


def is_eligible(sizes: Sequence[int]) -> bool:
    return len(sizes) >= 2 and max(sizes) >= LARGE


def subsets(sizes: Sequence[int], reading: Reading = "with_a_large_group") -> Iterator[Places]:
    """Places of the groups of each child, smaller children first."""
    if not is_eligible(sizes):
        return
    large = {place for place, size in enumerate(sizes) if size >= LARGE}
    among = range(len(sizes)) if reading == "with_a_large_group" else sorted(large)
    for count in range(1, min(len(among), len(sizes) - 1) + 1):
        yield from (chosen for chosen in combinations(among, count) if not large.isdisjoint(chosen))


def children(task: Task, settings: DecomposeSettings) -> list[Places]:
    """The groups of each child of an original task, by place; a child is not taken apart again."""
    if not settings.enabled or task.parent_id is not None:
        return []
    sizes = [len(group.facts) for group in task.groups]
    return list(islice(subsets(sizes, settings.reading), settings.max_children))


def child_id(task: Task, places: Places) -> str:
    """The parent's id and the places of the groups kept, counted from one, such as `insta-12~1.3`."""
    name = f"{task.id}~{'.'.join(str(place + 1) for place in places)}"
    if len(name) <= ID_CAP:
        return name
    return f"{task.id[:150]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def child_of(task: Task, places: Places, instruction: str, version: str) -> Task:
    versions = (task.provenance.rubric_version, version)
    return Task(
        id=child_id(task, places),
        source=task.source,
        instruction=instruction,
        website=task.website,
        domain=task.domain,
        subdomain=task.subdomain,
        groups=tuple(task.groups[place] for place in places),
        parent_id=task.id,
        split=task.split,
        provenance=task.provenance.model_copy(update={"rubric_version": "+".join(filter(None, versions))}),
    )


def child_question(task: Task, places: Places) -> Question[WrittenChild]:
    """The question for a child's instruction."""
    asked = prompt("child")
    kept = [group for place, group in enumerate(task.groups) if place in places]
    left = [group for place, group in enumerate(task.groups) if place not in places]
    text = (
        f"Task:\n{fenced(task.instruction, INSTRUCTION_CAP)}\n\n"
        f"Facts to keep:\n{fenced(_listed(kept), FACTS_CAP)}\n\nFacts to leave out:\n{fenced(_listed(left), FACTS_CAP)}"
    )

    def problem(written: WrittenChild) -> str | None:
        if not written.instruction.strip():
            return "The instruction is empty."
        if len(written.instruction) > INSTRUCTION_CAP:
            return f"The instruction is longer than {INSTRUCTION_CAP} characters."
        if _same(written.instruction, task.instruction):
            return "The instruction is that of the longer task: it asks for what should be left out."
        return None

    return Question(asked, (Message("system", asked.text), Message("user", text)), WrittenChild, problem)


async def decompose(task: Task, settings: DecomposeSettings, model: Endpoint) -> list[Task | Quarantined]:
    """The children in their order, each with an instruction by the model or the reason it has none.

    If the endpoint fails for one, the others are still waited for, because what is under way is paid for and worth storing;
    then the failure leaves as it is, not in a group.
    """
    calls = [_rewrite(task, places, model) for places in children(task, settings)]
    found: list[Task | Quarantined] = []
    for result in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


async def _rewrite(task: Task, places: Places, model: Endpoint) -> Task | Quarantined:
    question = child_question(task, places)
    try:
        written = await question.ask(model)
    except (UnusableReply, EndpointRefused) as e:
        return quarantined(task.model_copy(update={"id": child_id(task, places)}), "child", fault_of(e), str(e))
    return child_of(task, places, " ".join(written.instruction.split()), question.prompt.version)


def _listed(groups: Sequence[FactGroup]) -> str:
    return "\n".join(f"{group.description}\n" + "\n".join(f"- {fact}" for fact in group.facts) for group in groups)


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())
