"""The rubric judge: a vision-language model looks at an episode's screenshots and checks answer and facts.

    not to be scored? → refused by cheap signs? → an answer that says nothing? → first look: key screenshots, blocked?
        → claims of the answer (B) → facts (A) → reference answer

Invariants. Reward 1 needs usable replies in which every claim is shown, every fact is met on a screenshot that was shown,
and the answer agrees with the reference answer if there is one. Reward 0 needs a usable reply that says what fails, or an
answer that says nothing. Everything else is `Unscorable`: an episode that neither the agent nor its step limit ended, a
website that refused, a screenshot that gives the judge orders, a model that is down, a reply that cannot be used, a
screenshot that cannot be read. `judge` raises none of these; judging the episode again later is all that is needed.

No browser is held while it judges. Screenshots are in memory for as long as the call that shows them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeVar

from webgym.endpoint import Endpoint, Image
from webgym.errors import EndpointDown, EndpointError, StoreError, UnusableReply, WebGymError
from webgym.judge import prompts
from webgym.judge.answers import says_nothing
from webgym.judge.blocking import look_for_blocking
from webgym.judge.criteria import (
    ANSWER_CAP,
    NumberedFact,
    Question,
    claims_question,
    facts_of,
    facts_question,
    look_question,
    whole_question,
)
from webgym.judge.evidence import ReadImage, Shot, enlarged, gather
from webgym.judge.models import Models, Spent
from webgym.judge.reading import Blocking, Claims, ClaimsReply, Comparison, Fact, FactsReply, WholeReply, is_clear
from webgym.judge.settings import JudgeSettings
from webgym.refusals import refused_by
from webgym.types import Episode, FactResult, Judgement, Scored, Unscorable, Verdict, Wire

REASON_CAP: Final = 600

M = TypeVar("M", bound=Wire)
T = TypeVar("T")
Criterion = TypeVar("Criterion", ClaimsReply, FactsReply, WholeReply)
Shown = Sequence[tuple[Shot, Image]]


@dataclass
class _Found:
    """What has been found out about an episode so far."""

    wanted: int
    empty: str | None = None  # why the answer says nothing
    claims: Claims | None = None
    comparison: Comparison | None = None
    orders: tuple[int, ...] = ()  # screenshots with words for the judge
    facts: list[Fact] = field(default_factory=list)

    def problem(self) -> str | None:
        """Why the reward is 0, but for facts."""
        if self.empty is not None:
            return self.empty
        if self.claims is not None and not self.claims.supported:
            return f"the answer claims what no screenshot shows: {self.claims.unsupported[0]}: {self.claims.reason}"
        if self.comparison is not None and not self.comparison.agrees:
            return f"the answer is not the reference answer: {self.comparison.reason}"
        return None

    @property
    def hopeless(self) -> bool:
        return self.problem() is not None or not all(fact.met for fact in self.facts)

    @property
    def whole(self) -> bool:
        return self.claims is not None and len(self.facts) == self.wanted


class RubricJudge:
    """Judges episodes with models that are open. Any number may be judged at once; the endpoints bound the calls.

    `blocked` is told of a website that refused, why, and when the episode ended, in a thread; `trouble` of an error that
    left an episode unscored."""

    def __init__(
        self,
        settings: JudgeSettings,
        models: Models,
        read: ReadImage,
        *,
        rubric: str = "",
        blocked: Callable[[str, str, float], None] = lambda _website, _reason, _ended: None,
        trouble: Callable[[WebGymError], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`read` finds a screenshot's bytes by its hash; `rubric` names rubrics that are not the episodes' own."""
        self.name = settings.identity(prompts.version(*prompts.ALL[1:])) + (f" rubric:{rubric}" if rubric else "")
        self.settings, self.models = settings, models
        self._read, self._blocked, self._trouble, self._clock = read, blocked, trouble, clock

    async def judge(self, episode: Episode) -> Judgement:
        spent = Spent()
        verdict: Verdict
        try:
            verdict = await self._verdict(episode, spent)
        except (EndpointError, StoreError) as e:
            self._trouble(e)
            verdict = Unscorable(reason=f"{type(e).__name__}: {e}"[:REASON_CAP])
        return Judgement(
            episode=episode.id,
            judge=self.name,
            verdict=verdict,
            dollars=spent.dollars,
            tokens=spent.tokens,
            judged=self._clock(),
        )

    async def _verdict(self, episode: Episode, spent: Spent) -> Verdict:
        task, facts = episode.task, facts_of(episode.task)
        if not episode.trainable:
            return Unscorable(reason=f"the episode ended by {episode.outcome.kind}, which says nothing about the agent")
        if not facts and task.reference_answer is None:
            return Unscorable(reason="the task has neither facts nor a reference answer")
        signs = look_for_blocking(episode)
        if signs.standing == "blocked":
            return await self._refused(episode, signs.reason)
        found = _Found(len(facts), empty=_empty(episode))
        if found.empty is not None and signs.at_the_end:  # questions about facts would not tell
            refusal = await self._refusal_at_the_end(episode, spent)
            if refusal is not None:
                return await self._refused(episode, refusal)
        if found.empty is not None and (self.settings.early_exit or not facts):
            return self._scored(found, facts, ())
        shots = await asyncio.to_thread(gather, episode, self._read, self.settings.evidence)
        if not shots:
            return Unscorable(reason="the episode has no screenshot")
        chosen = await self._key_shots(episode, shots, spent)
        if isinstance(chosen, str):
            return await self._refused(episode, chosen)
        shown = await asyncio.to_thread(self._enlarge, chosen)
        refusal = await self._examine(episode, facts, shown, found, spent)
        if refusal is not None:
            return await self._refused(episode, refusal)
        if found.orders:
            return Unscorable(reason=f"words for the judge on screenshot {', '.join(map(str, found.orders))}")
        return self._scored(found, facts, shown)

    # first look

    async def _key_shots(self, episode: Episode, shots: tuple[Shot, ...], spent: Spent) -> tuple[Shot, ...] | str:
        """The screenshots worth reading, the last among them; or how the website refused."""
        wanted = self.settings.evidence
        if len(shots) <= min(wanted.straight, wanted.most):
            return shots
        relevance: dict[int, int] = {}
        for batch in _evenly(shots, wanted.batch):
            question = look_question(episode.task, batch)
            look = await self._ask(question, self.models.look, spent)
            relevance |= {one.screenshot: one.relevance for one in look.screenshots}
            # Only the end counts: a challenge on the way that was passed has blocked nothing.
            if batch[-1] is shots[-1] and (refusal := self._surely(look.blocking)) is not None:
                return refusal
        keys = [shot for shot in shots[:-1] if relevance[shot.number] >= wanted.relevance]
        best = sorted(keys, key=lambda shot: (-relevance[shot.number], -shot.number))[: wanted.most - 1]
        return (*sorted(best, key=lambda shot: shot.number), shots[-1])

    async def _refusal_at_the_end(self, episode: Episode, spent: Spent) -> str | None:
        """How the website refused in the last screenshot, if it did: no answer is no failure of the agent's then."""
        shots = await asyncio.to_thread(gather, episode, self._read, self.settings.evidence)
        if not shots:
            return None
        look = await self._ask(look_question(episode.task, shots[-1:]), self.models.look, spent)
        return self._surely(look.blocking)

    def _surely(self, told: Blocking) -> str | None:
        """How a website refused, if a first look is sure enough of it."""
        return told.reason if told.blocked and told.confidence >= self.settings.evidence.sure_of_blocking else None

    def _enlarge(self, shots: tuple[Shot, ...]) -> Shown:
        return [(shot, enlarged(shot, self._read, self.settings.evidence.width)) for shot in shots]

    # criteria

    async def _examine(
        self, episode: Episode, facts: tuple[NumberedFact, ...], shown: Shown, found: _Found, spent: Spent
    ) -> str | None:
        """Ask until all is known or nothing can be won any more; returns how the website refused, if it did."""
        rest = _evenly(facts, self.settings.facts_per_call)
        reply: ClaimsReply | WholeReply | None = None
        if found.empty is None and self.settings.joined and rest:
            reply = await self._decide(whole_question(episode, rest.pop(0), shown), self.models.claims, spent)
            found.facts += reply.facts
        elif found.empty is None:
            reply = await self._decide(claims_question(episode, shown), self.models.claims, spent)
        if reply is not None:
            if reply.blocking.blocked:
                return reply.blocking.reason
            found.claims, found.comparison, found.orders = reply.claims, reply.comparison, reply.orders
            if found.orders:
                return None  # whatever a model says after reading them
        for some in rest:
            if found.hopeless and self.settings.early_exit:
                break
            more = await self._decide(facts_question(episode, some, shown), self.models.facts, spent)
            found.facts += more.facts
        return None

    async def _decide(self, question: Question[Criterion], model: Endpoint, spent: Spent) -> Criterion:
        """The small model's word where it is sure, else the large one's."""
        cascade, small = self.settings.cascade, self.models.small
        if cascade is not None and small is not None:
            try:
                reply = await self._ask(question, small, spent)
            except (UnusableReply, EndpointDown):
                pass  # the large one is there for the hard cases, and this is one
            else:
                if is_clear(reply, accept=cascade.accept, reject=cascade.reject):
                    return reply
        return await self._ask(question, model, spent)

    async def _ask(self, question: Question[M], model: Endpoint, spent: Spent) -> M:
        answer = await model.ask(
            question.messages,
            question.kind,
            version=question.version,
            check=question.check,
            spent=lambda usage: spent.add(usage, model),
        )
        return answer.value

    # verdict

    async def _refused(self, episode: Episode, reason: str) -> Unscorable:
        said = reason[:REASON_CAP]
        if (website := refused_by(episode)) is not None:
            await asyncio.to_thread(self._blocked, website, said, episode.ended)
        return Unscorable(reason=f"blocked: {said}")

    def _scored(self, found: _Found, facts: tuple[NumberedFact, ...], shown: Shown) -> Verdict:
        by_number = {fact.number: fact for fact in facts}
        hashes = {shot.number: shot.sha256 for shot, _ in shown}
        results = tuple(
            FactResult(
                group=by_number[one.fact].group,
                fact=by_number[one.fact].text,
                met=one.met,
                reason=one.reason[:REASON_CAP],
                screenshots=tuple(hashes[number] for number in one.screenshots),
            )
            for one in sorted(found.facts, key=lambda one: one.fact)
        )
        if found.hopeless:
            return Scored(reward=0, facts=results, reason=(found.problem() or "")[:REASON_CAP])
        if not found.whole:  # unreachable by design; a reward must not rest on that
            return Unscorable(reason="not everything was asked")
        return Scored(reward=1, facts=results)


def _empty(episode: Episode) -> str | None:
    if (why := says_nothing(episode.answer, episode.task)) is not None:
        return why
    too_long = episode.answer is not None and len(episode.answer) > ANSWER_CAP
    return f"the answer is longer than {ANSWER_CAP} characters" if too_long else None


def _evenly(items: Sequence[T], most: int) -> list[tuple[T, ...]]:
    """Groups of about equal size, as few as hold at most so many each."""
    count = -(-len(items) // most)
    edges = [len(items) * n // count for n in range(count + 1)] if count else [0]
    return [tuple(items[start:end]) for start, end in pairwise(edges)]
