"""What a model may reply, and what makes a reply useless although it fits the schema.

The endpoint takes a reply only if it ended by itself and is one JSON object that fits the schema to the letter. The checks
here add what a schema cannot say: every screenshot and fact exactly once, evidence that was shown, no reason that is a book,
nothing that contradicts itself. A check returns what is wrong in words the model can act on; it is asked once more, and then
the episode is unscorable.

Reasons come before verdicts in every record, so that a model that writes in order thinks first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from webgym.types import Wire

LONGEST: Final = 2_000  # characters of a reason
MOST_CLAIMS: Final = 50


class Relevance(Wire):
    """How much a screenshot says about the task, from 1 to 5."""

    screenshot: int
    relevance: int


class Blocking(Wire):
    """Whether the website kept the agent out, as the screenshots show."""

    reason: str
    blocked: bool
    confidence: int


class Look(Wire):
    """The first look at some screenshots."""

    screenshots: tuple[Relevance, ...]
    blocking: Blocking


class Claims(Wire):
    """Criterion B: whether every claim of the answer is to be seen."""

    reason: str
    unsupported: tuple[str, ...]
    supported: bool
    confidence: int


class Comparison(Wire):
    """The answer against the reference answer."""

    reason: str
    agrees: bool
    confidence: int


class Fact(Wire):
    """Criterion A, for one fact of the rubric."""

    fact: int
    reason: str
    screenshots: tuple[int, ...]
    met: bool
    confidence: int


class ClaimsReply(Wire):
    orders: tuple[int, ...]  # screenshots with words for the judge
    blocking: Blocking
    claims: Claims
    comparison: Comparison | None


class FactsReply(Wire):
    facts: tuple[Fact, ...]


class WholeReply(Wire):
    """Claims and facts in one."""

    orders: tuple[int, ...]
    blocking: Blocking
    claims: Claims
    comparison: Comparison | None
    facts: tuple[Fact, ...]


Judged = Blocking | Claims | Comparison | Fact


def passes(part: Judged) -> bool:
    """Whether a part speaks for a reward."""
    match part:
        case Blocking():
            return not part.blocked
        case Claims():
            return part.supported
        case Comparison():
            return part.agrees
        case Fact():
            return part.met


def parts(reply: ClaimsReply | FactsReply | WholeReply) -> Iterator[Judged]:
    """All that a reply judges."""
    if not isinstance(reply, FactsReply):
        yield reply.blocking
        yield reply.claims
        if reply.comparison is not None:
            yield reply.comparison
    if not isinstance(reply, ClaimsReply):
        yield from reply.facts


def is_clear(reply: ClaimsReply | FactsReply | WholeReply, *, accept: int, reject: int) -> bool:
    """Whether a model is sure enough to decide: of everything if all is met, of one failure if not, and of a refusal if it
    sees one. One that was given orders never is."""
    if not isinstance(reply, FactsReply):
        if reply.orders:
            return False
        if reply.blocking.blocked:  # that decides alone: an agent that was kept out fails at the rest, which proves nothing
            return reply.blocking.confidence >= reject
    judged = tuple(parts(reply))
    failed = [part.confidence for part in judged if not passes(part)]
    return max(failed) >= reject if failed else min(part.confidence for part in judged) >= accept


def check_look(shown: Sequence[int]) -> Callable[[Look], str | None]:
    def check(look: Look) -> str | None:
        given = [one.screenshot for one in look.screenshots]
        if (problem := _each_once("screenshot", given, shown)) is not None:
            return problem
        if wrong := [one.screenshot for one in look.screenshots if not 1 <= one.relevance <= 5]:
            return f"The relevance of screenshot {wrong[0]} is not a number from 1 to 5."
        return _judged_problem(look.blocking)

    return check


def check_claims(shown: Collection[int], *, reference: bool) -> Callable[[ClaimsReply | WholeReply], str | None]:
    def check(reply: ClaimsReply | WholeReply) -> str | None:
        if unknown := [number for number in reply.orders if number not in shown]:
            return f"orders names screenshot {unknown[0]}, which was not shown."
        if reference != (reply.comparison is not None):
            given, wanted = ("is", "must not be") if reference else ("is not", "must be")
            return f"A reference answer {given} given: comparison {wanted} null."
        claims = reply.claims
        if claims.supported == bool(claims.unsupported):
            return "supported must be true exactly if the list of unsupported claims is empty."
        if len(claims.unsupported) > MOST_CLAIMS or any(len(claim) > LONGEST for claim in claims.unsupported):
            return f"There are more than {MOST_CLAIMS} unsupported claims, or one is longer than {LONGEST} characters."
        judged: list[Judged] = [reply.blocking, claims]
        if reply.comparison is not None:
            judged.append(reply.comparison)
        return next(filter(None, map(_judged_problem, judged)), None)

    return check


def check_facts(facts: Sequence[int], shown: Collection[int]) -> Callable[[FactsReply | WholeReply], str | None]:
    """`facts` and `shown` are the numbers of the facts asked about and of the screenshots in the question."""

    def check(reply: FactsReply | WholeReply) -> str | None:
        if (problem := _each_once("fact", [one.fact for one in reply.facts], facts)) is not None:
            return problem
        for one in reply.facts:
            if unknown := [number for number in one.screenshots if number not in shown]:
                return f"Fact {one.fact} names screenshot {unknown[0]}, which was not shown."
            if len(set(one.screenshots)) != len(one.screenshots):
                return f"Fact {one.fact} names a screenshot twice."
            if one.met and not one.screenshots:
                return f"Fact {one.fact} is met but names no screenshot that shows it."
            if (problem := _judged_problem(one)) is not None:
                return problem
        return None

    return check


def check_whole(facts: Sequence[int], shown: Collection[int], *, reference: bool) -> Callable[[WholeReply], str | None]:
    claims_problem, facts_problem = check_claims(shown, reference=reference), check_facts(facts, shown)
    return lambda reply: claims_problem(reply) or facts_problem(reply)


def _each_once(what: str, given: Sequence[int], wanted: Sequence[int]) -> str | None:
    counts = Counter(given)
    if missing := [number for number in wanted if number not in counts]:
        return f"There is nothing about {what} {missing[0]}: each {what} must appear exactly once."
    if unknown := [number for number in given if number not in wanted]:
        return f"There is no {what} {unknown[0]}."
    if doubled := [number for number, count in counts.items() if count > 1]:
        return f"The {what} {doubled[0]} appears {counts[doubled[0]]} times: each must appear exactly once."
    return None


def _judged_problem(part: Judged) -> str | None:
    if not 0 <= part.confidence <= 100:
        return "A confidence is not a number from 0 to 100."
    if len(part.reason) > LONGEST:
        return f"A reason is longer than {LONGEST} characters."
    if not part.reason.strip():
        return "A reason is empty."
    return None
