"""One episode: a session, an agent, and exactly one outcome.

    allocate → navigate → (decide → act → keep the screenshot)* → outcome

`Player.play` returns an `Episode` that is worth a file, or an outcome alone. Invariants. Whatever happens, the session is
released and the agent closed, also when cancelled. A screenshot goes to the store the moment it arrives, unless it is the
one before, and is held no longer than the agent needs it; nothing is done about a page before its screenshot is kept. An
infrastructure failure begins the episode anew with a new session and a new agent, up to a bound; then it is `infra`. A model
that does not answer within its patience is `cancelled(policy_unavailable)`; until then the lease is kept, for the client
renews it. What the website does wrong is `site_error` or `blocked`, never a reward.

    the start page cannot be loaded, or is a 5xx              site_error
    our server will not open the start page                   infra at once: the reason names the setting
    a page refuses automation                                 blocked
    Unreachable, a lost session, 409, 500, 502, 503           again with a new session, then infra
    an outline that a verifier needs was cut for want of time the same
    429, the server is full                                   asked again until `session.patience` ends, then infra
    401, 403, 413, 422, EndpointRefused, a script that fails  infra at once: repeating it does not help
    EndpointDown                                              cancelled(policy_unavailable)
    DiskFull, after its patience                              cancelled(disk_full)
    any other exception                                       a bug: it ends the rollout, loudly
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

from webgym import errors
from webgym.errors import DiskFull, EndpointDown, ServerError, StoreError, Unreachable, WebGymError
from webgym.rollout.agent import Agent, Decision, LooksAround, NewAgent
from webgym.rollout.blocking import Blocked, looks_blocked
from webgym.rollout.client import Client, Session, finish
from webgym.rollout.deadline import Deadline
from webgym.rollout.events import Doing, Events
from webgym.rollout.gates import Gate, Gates, Passage
from webgym.rollout.settings import EngineSettings
from webgym.store import Planned
from webgym.types import (
    MAX_OUTLINE,
    Answer,
    Answered,
    Cancelled,
    Episode,
    Infra,
    Look,
    Navigate,
    Observation,
    Outcome,
    Screenshot,
    SiteError,
    Step,
    StepLimit,
    Task,
    Terminate,
)
from webgym.types import Blocked as BlockedOutcome

log = logging.getLogger(__name__)

HOPELESS: Final = (errors.Unauthorized, errors.Forbidden, errors.BodyTooLarge, errors.BadRequest, errors.UnknownFile)
CLOSING: Final = 10.0  # seconds an agent has to close
LONGEST_BACKOFF: Final = 30.0
REASON: Final = 500  # characters of a reason
UNSEEN: Final = Look(image="none")

Keep = Callable[[Screenshot], Awaitable[str]]  # begins at once
StateOf = Callable[[Iterable[tuple[str, str, str]]], dict[str, str]]


@dataclass(frozen=True)
class Job:
    """A planned episode, with what it takes to do it."""

    planned: Planned
    task: Task
    limit: int

    @property
    def id(self) -> str:
        return self.planned.id


class StayedFull(WebGymError):
    """The server had no session free for longer than anybody wants to wait."""


class Player:
    """Plays episodes. One an engine. It holds nothing of any episode but `unloaded`: the websites whose start pages could
    not be loaded since one could."""

    def __init__(
        self,
        run: str,
        client: Client,
        new_agent: NewAgent,
        gates: Gates,
        events: Events,
        settings: EngineSettings,
        *,
        keep: Keep,
        blocked: Blocked = looks_blocked,
        outlines: bool = False,
        state_of: StateOf | None = None,
    ) -> None:
        """`keep` begins to store a screenshot, and tells its hash once it is stored. `outlines` keeps an outline of every
        page. `state_of` makes what websites kept out of a session's cookies (domain, name, value), at the end."""
        self.run, self.client, self.new_agent, self.gates, self.events = run, client, new_agent, gates, events
        self.settings, self.keep, self.blocked = settings, keep, blocked
        self.outlines, self.state_of = outlines, state_of
        self.unloaded: set[str] = set()

    async def play(self, job: Job) -> Episode | Outcome:
        """The whole episode, or how it ended without one that is worth keeping."""
        attempt = 0
        while True:
            try:
                return await self._attempt(job, attempt)
            except EndpointDown as e:
                return Cancelled(reason="policy_unavailable", detail=str(e)[:REASON])
            except DiskFull as e:
                return Cancelled(reason="disk_full", detail=str(e)[:REASON])
            except StoreError:
                raise  # the run's folder is broken: no episode can end well
            except HOPELESS as e:
                return Infra(reason=_said(e))
            except (ServerError, Unreachable) as e:
                if attempt >= self.settings.retries:
                    return Infra(reason=_said(e))
                attempt += 1
                log.info("episode %s: attempt %d after %s", job.id, attempt, _said(e))
                self.events.doing(job.id, "waiting", attempt=attempt, step=0, reason=_said(e))
            except WebGymError as e:
                return Infra(reason=_said(e))
            await asyncio.sleep(min(LONGEST_BACKOFF, self.settings.backoff * 2.0 ** (attempt - 1)))

    async def _attempt(self, job: Job, number: int) -> Episode:
        agent = self.new_agent(job.task, job.id)
        try:
            async with self.at(job, self.gates.allocate, "opening"):
                session = await self._patient_session(job)
            with closing(Deadline(self.settings.decision)) as deadline:
                async with session:
                    return await Attempt(self, job, number, agent, session, deadline).run()
        finally:
            await finish(_close(agent))

    async def _patient_session(self, job: Job) -> Session:
        """A session, once the server has one free: to be full is no fault, and no attempt is lost to it."""
        patience, began, waited = self.settings.session.patience, time.monotonic(), False
        while True:
            try:
                session = await self._session()
                if waited:
                    self.events.doing(job.id, "opening", reason="")
                return session
            except errors.Overloaded as e:
                waited = True
                pause = max(self.settings.backoff, e.retry_after or 0.0)
                if time.monotonic() + pause > began + patience:
                    raise StayedFull(f"no session was free in {patience:g} s: {e}") from e
                self.events.doing(job.id, "waiting", gate=self.gates.allocate.name, reason=f"the server is full: {e}")
                await asyncio.sleep(pause)

    async def _session(self) -> Session:
        wanted = self.settings.session
        return await self.client.session(
            viewport={"width": wanted.width, "height": wanted.height},
            ttl=wanted.ttl,
            lifetime=wanted.lifetime,
            wait=wanted.wait,
            look=UNSEEN,
        )

    def at(self, job: Job, gate: Gate, doing: Doing) -> Announced:
        """Through a gate, telling so."""
        return Announced(gate, self.events, job.id, doing)


class Announced(Passage):
    """A passage that watchers are told of."""

    __slots__ = ("_doing", "_episode", "_events")

    def __init__(self, gate: Gate, events: Events, episode: str, doing: Doing) -> None:
        super().__init__(gate)
        self._events, self._episode, self._doing = events, episode, doing

    async def __aenter__(self) -> None:
        if self._gate.full:
            self._events.doing(self._episode, "waiting", gate=self._gate.name)
        self._entered = await self._gate.admit()
        self._events.doing(self._episode, self._doing)


class Attempt:
    """One try at an episode, in one session."""

    def __init__(self, player: Player, job: Job, number: int, agent: Agent, session: Session, deadline: Deadline) -> None:
        self._player, self._job, self._number, self._agent, self._session = player, job, number, agent, session
        self._deadline = deadline  # of a decision
        self._steps: list[Step] = []
        self._shot: str | None = None  # of what is on screen
        self._shown: Screenshot | None = None  # the last one; the agent has it as long
        self._keeping: Awaitable[str] | None = None  # until it is known to be in the store
        self._since = 0.0
        self._answer: str | None = None

    async def run(self) -> Episode:
        player, task, started = self._player, self._job.task, time.time()
        if isinstance(self._agent, LooksAround):
            self._agent.give_eyes(self._look)
        seen = await self._start()
        outcome: Outcome
        if (error := seen.navigation_error) is not None:
            outcome = SiteError(reason=error[:REASON])
        elif (refusal := player.blocked(seen)) is not None:
            outcome = BlockedOutcome(reason=refusal[:REASON])
        elif seen.status is not None and seen.status >= 500:
            outcome = SiteError(reason=f"the start page answered with status {seen.status}")
        else:
            seen, outcome = await self._walk(seen)
        await self._kept()
        state = await self._state() if outcome.kind in ("answered", "step_limit") else {}
        size = player.settings.session
        return Episode(
            id=self._job.id,
            run=player.run,
            iteration=self._job.planned.iteration,
            replica=self._job.planned.replica,
            attempt=self._number,
            task=task,
            agent=self._agent.name,
            width=size.width,
            height=size.height,
            steps=tuple(self._steps),
            final_screenshot=self._shot,
            final_url=seen.url,
            final_visible=seen.accessibility,
            answer=self._answer,
            state=state,
            outcome=outcome,
            started=started,
            ended=time.time(),
        )

    async def _start(self) -> Observation:
        player, url = self._player, self._job.task.website or self._player.settings.session.blank
        look = self._wanted(self._agent.look)
        async with player.at(self._job, player.gates.navigate, "navigating"):
            seen = await self._session.step(Navigate(url=url), look)
        if (refused := seen.action_error) is not None:  # nothing was sent: the address is forbidden, or none
            raise errors.Forbidden(
                f"{url[:100]} was not opened: {refused[:200]}. Allow it in the server's egress settings (allow, sites), "
                f"or mend the task"
            )
        if seen.navigation_error is not None:
            player.unloaded.add(self._job.task.website)
        elif not url.startswith("about:"):  # such a page is there without a network, too
            player.unloaded.clear()  # whatever the page says, the network is there
        self._see(seen)
        return seen

    async def _walk(self, seen: Observation) -> tuple[Observation, Outcome]:
        """Decide and act until something ends it. What is on screen then, and why it ended."""
        look, limit = self._agent.look, self._job.limit
        for index in range(limit):
            shot, since = self._shot, self._since
            decision = await self._decide(seen, look)
            await self._kept()
            action = decision.action
            if isinstance(action, Answer | Terminate):
                self._answer = action.text if isinstance(action, Answer) else None
                self._note(index, seen, shot, since, decision, None)
                return seen, Answered()
            look = decision.look or self._agent.look
            after = await self._perform(decision, self._wanted(look))
            self._see(after)
            self._note(index, seen, shot, since, decision, after)
            seen = after
            if (refusal := self._player.blocked(seen)) is not None:
                return seen, BlockedOutcome(reason=refusal[:REASON])
        return seen, StepLimit(limit=limit)

    async def _decide(self, seen: Observation, look: Look) -> Decision:
        if seen.accessibility is not None and not look.accessibility:
            seen = seen.model_copy(update={"accessibility": None})  # ours, not the agent's to see
        player, deadline = self._player, self._deadline
        async with player.at(self._job, player.gates.model, "model"):
            try:
                with deadline:
                    return await self._agent.decide(seen)
            except TimeoutError as e:
                if not deadline.expired:
                    raise
                raise EndpointDown(f"{self._agent.name} did not decide in {deadline.seconds:g} s") from e

    async def _perform(self, decision: Decision, look: Look) -> Observation:
        """Do it and see what came of it; without an action, only look again."""
        player, gates, action = self._player, self._player.gates, decision.action
        if action is None:
            async with player.at(self._job, gates.step, "screenshot"):
                return await self._session.observe(look)
        async with player.at(self._job, gates.navigate if action.kind == "navigate" else gates.step, "executing"):
            return await self._session.step(action, look)

    def _see(self, seen: Observation) -> None:
        """Begin to keep what is on screen now."""
        if self._player.outlines and _unread(seen):
            raise ServerError(f"{seen.url[:100]} could not be outlined in time: what it showed cannot be verified")
        self._since = time.monotonic()
        if (shot := seen.screenshot) is not None:
            last, self._shown = self._shown, shot
            if last is None or (last.sha256, last.data) != (shot.sha256, shot.data):  # what looks the same is kept already
                self._shot, self._keeping = shot.sha256, self._player.keep(shot)
        self._player.events.doing(self._job.id, "screenshot", url=seen.url, title=seen.title, screenshot=self._shot)

    async def _kept(self) -> None:
        """What is on screen is in the store, under the hash that the server gave it."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None and (found := await keeping) != self._shot:
            raise ServerError(f"the screenshot's hash is {found}, but the server said {str(self._shot)[:64]!r}")

    def _note(
        self,
        index: int,
        seen: Observation,
        shot: str | None,
        since: float,
        decision: Decision,
        after: Observation | None,
    ) -> None:
        """The step from what was seen, by a decision, to what is on screen now."""
        error = (after.action_error or after.navigation_error) if after is not None else None
        step = Step(
            index=index,
            screenshot=shot,
            url=seen.url,
            title=seen.title,
            visible=seen.accessibility,
            prompt=decision.prompt,
            reply=decision.reply,
            action=decision.action,
            invalid=decision.invalid,
            error=error,
            unchanged=after is not None and (after.unchanged if after.screenshot is None else self._shot == shot),
            seconds=max(0.0, (self._since if after is not None else time.monotonic()) - since),
        )
        self._steps.append(step)
        self._player.events.step(self._job.id, step)

    async def _state(self) -> dict[str, str]:
        if self._player.state_of is None:
            return {}
        async with self._player.gates.step.enter():
            kept = await self._session.storage()
        return self._player.state_of((cookie.domain, cookie.name, cookie.value) for cookie in kept.cookies)

    async def _look(self, look: Look) -> Observation:
        async with self._player.gates.step.enter():
            return await self._session.observe(look)

    def _wanted(self, look: Look) -> Look:
        return look.model_copy(update={"accessibility": True}) if self._player.outlines else look


async def _close(agent: Agent) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSING):
            await agent.close()


def _unread(seen: Observation) -> bool:
    """Whether time cut the page's outline short, and not its length."""
    return "accessibility" in seen.truncated and len(seen.accessibility or "") < MAX_OUTLINE // 2


def _said(error: WebGymError) -> str:
    return f"{type(error).__name__}: {error}"[:REASON]
