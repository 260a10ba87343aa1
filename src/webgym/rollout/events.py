"""What every episode of a rollout is doing, for whoever watches: the contract between engine and monitor.

One `Events` a rollout, in the engine's process and event loop. The engine tells it; watchers read:

    events.state()                            everything at once: `State(counts, rates, gates, episodes)`
    events.history(episode_id)                the steps of an episode under way so far, or of one that failed lately
    with events.subscribe() as changes:       then only what changed
        while (update := await changes.next()) is not None:
            update.episodes                   the latest view of each episode that changed since the last call
            update.counts, update.rates, update.gates, update.finished

Invariants. Telling never waits, never fails and costs some microseconds: a watcher is told *which* episodes changed, not
each change, so one that sleeps holds a set of ids and nothing grows behind it. It always sees the latest view, and may miss
views in between. Views are frozen; a new one replaces the old. `counts` is complete; views are kept for at most `keep`
episodes: the longest ended go first, and what they did is in the store (`Run.episode(id)`), as is any kept one's history.
What is recorded alone has no file: the last `FAILED` of those keep their last steps here. While an episode is under way its
steps are the engine's own, not copies. Images are named by hash only (`Run.images`). Titles, addresses, replies and reasons
come from web pages and models: in a view they are cut to a length, in a step they are not, and they are never safe to show
as markup.

`State`, `Update` and all they hold are plain frozen dataclasses: `msgspec.json.encode` writes them as they are.

Order of an episode's life:

    planned → waiting (for a slot) → opening → navigating → (screenshot → model → executing)* → saving → judging → done
                                       ↑ a retry begins here again, `attempt` one more              failed, cancelled

`waiting` may come before any operation: it stands in that operation's gate; `gate` names it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Self, TypedDict, Unpack

from msgspec.structs import replace

from webgym.rollout.gates import GateStats
from webgym.rollout.views import (
    ENDED,
    STATES,
    Counts,
    Doing,
    EpisodeView,
    OutcomeKind,
    Rates,
    State,
    Update,
)
from webgym.types import Outcome, Step, Task

__all__ = [
    "ENDED", "STATES", "Counts", "Doing", "EpisodeView", "Events", "OutcomeKind", "Rates", "State", "Subscription",
    "Update",
]  # fmt: skip

KEEP: Final = 4096  # views held
HISTORY: Final = 128  # steps of history held for an episode under way
FAILED: Final = 64  # ended episodes without a file whose last steps are held
LAST: Final = 32  # how many steps of each
REPLY: Final = 6_000  # characters of each reply
WINDOW: Final = 60  # seconds over which rates are measured
TEXT: Final = 300  # characters of anything a page or a model says


class _Change(TypedDict, total=False):
    gate: str
    step: int
    attempt: int
    screenshot: str | None
    url: str
    title: str
    action: str
    reason: str


class Subscription:
    """A watcher's place. Leave it with `with`, or `close` it."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._changed: dict[str, None] = {}
        self._dropped: dict[str, None] = {}
        self._stir = asyncio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._events.unsubscribe(self)

    async def next(self, *, within: float = 1.0) -> Update | None:
        """What changed, once something has; after `within` seconds also if nothing has. None: the rollout has ended, and
        everything was told."""
        if not self._stir.is_set() and not self._events.finished:
            try:
                async with asyncio.timeout(within):
                    await self._stir.wait()
            except TimeoutError:
                pass
        elif not self._stir.is_set():
            return None
        self._stir.clear()
        changed, self._changed = self._changed, {}
        dropped, self._dropped = self._dropped, {}
        return self._events.update(changed, tuple(dropped))

    def tell(self, episode: str | None, *, dropped: bool = False) -> None:
        if dropped and episode is not None:
            self._changed.pop(episode, None)
            self._dropped[episode] = None
            if len(self._dropped) > 2 * KEEP:  # a watcher that has slept this long starts from `state()` again
                self._dropped.pop(next(iter(self._dropped)))
        elif episode is not None:
            self._changed[episode] = None
        self._stir.set()


class _Meter:
    """Sums of the last seconds, a bucket a second."""

    def __init__(self) -> None:
        self._buckets: deque[tuple[int, float]] = deque(maxlen=2 * WINDOW)

    def add(self, now: float, amount: float) -> None:
        second = int(now)
        if self._buckets and self._buckets[-1][0] == second:
            amount += self._buckets.pop()[1]
        self._buckets.append((second, amount))

    def rate(self, now: float, began: float) -> float:
        while self._buckets and self._buckets[0][0] <= now - WINDOW:
            self._buckets.popleft()
        return sum(amount for _, amount in self._buckets) / max(1.0, min(float(WINDOW), now - began))


class Events:
    """What is told and what is read. All of it in the event loop's thread."""

    def __init__(
        self, run: str = "", iteration: int = 0, *, keep: int = KEEP, clock: Callable[[], float] = time.time
    ) -> None:
        self.run, self.iteration = run, iteration
        self.number = 0
        self.started = clock()
        self.finished = False
        self.notice = ""
        self._clock, self._keep = clock, keep
        self._views: dict[str, EpisodeView] = {}
        self._ended: deque[str] = deque()  # oldest first: these views go when there are too many
        self._history: dict[str, deque[Step]] = {}
        self._failed: dict[str, tuple[Step, ...]] = {}  # the longest ended first
        self._doing: dict[str, int] = dict.fromkeys(STATES, 0)
        self._outcomes: dict[str, int] = {}
        self._tally = Counts()
        self._meters = (_Meter(), _Meter(), _Meter())  # steps, episodes, tokens
        self._gates: Callable[[], tuple[GateStats, ...]] = tuple
        self._subscriptions: set[Subscription] = set()

    # reading

    def subscribe(self) -> Subscription:
        """Be told what changes from now on; read `state()` first, in the same turn of the loop."""
        subscription = Subscription(self)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    def state(self) -> State:
        return State(
            self.run, self.iteration, self.number, self._clock(), self.started, self.notice, self.finished,
            self.counts(), self.rates(), self._gates(), tuple(self._views.values()),
        )  # fmt: skip

    def update(self, changed: Iterable[str], dropped: tuple[str, ...]) -> Update:
        views = tuple(view for one in changed if (view := self._views.get(one)) is not None)
        return Update(
            self.number,
            self._clock(),
            self.notice,
            self.finished,
            self.counts(),
            self.rates(),
            self._gates(),
            views,
            dropped,
        )

    def view(self, episode: str) -> EpisodeView | None:
        return self._views.get(episode)

    def history(self, episode: str) -> tuple[Step, ...]:
        """The steps of an episode under way, or the last ones of one that ended without a file. Others are in the store."""
        return tuple(self._history.get(episode) or self._failed.get(episode, ()))

    def counts(self) -> Counts:
        return replace(self._tally, doing=dict(self._doing), outcomes=dict(self._outcomes))

    def rates(self) -> Rates:
        now = self._clock()
        steps, episodes, tokens = (meter.rate(now, self.started) for meter in self._meters)
        return Rates(steps, episodes * 3600, tokens)

    # telling

    def watch(self, gates: Callable[[], tuple[GateStats, ...]]) -> None:
        """Where to ask for the gates' statistics."""
        self._gates = gates

    def plan(self, episode: str, task: Task, replica: int, *, limit: int) -> None:
        """An episode is to be done. Beyond `keep`, planned ones are counted, and get their views when they begin."""
        self._tally = replace(self._tally, total=self._tally.total + 1)
        self._doing["planned"] += 1
        if len(self._views) < self._keep:
            self._put(_first_view(episode, task, replica, limit, self._clock()))

    def begin(self, episode: str, task: Task, replica: int, *, limit: int) -> None:
        """A slot is free for it."""
        now = self._clock()
        view = self._views.get(episode) or _first_view(episode, task, replica, limit, now)
        self._history[episode] = deque(maxlen=HISTORY)
        self._move(view, replace(view, doing="waiting", gate="", since=now, started=now))

    def doing(self, episode: str, doing: Doing, **changes: Unpack[_Change]) -> None:
        """It does something else now."""
        if (view := self._views.get(episode)) is None:
            return
        if changes:
            for name in ("url", "title", "reason"):
                if name in changes:
                    changes[name] = changes[name][:TEXT]
            if changes.get("attempt", view.attempt) > view.attempt:
                self._tally = replace(self._tally, retries=self._tally.retries + 1)
                self._history[episode] = deque(maxlen=HISTORY)
        changes.setdefault("gate", "")
        self._move(view, replace(view, doing=doing, since=self._clock(), **changes))

    def step(self, episode: str, step: Step) -> None:
        """A step is complete."""
        now, tally, reply = self._clock(), self._tally, step.reply
        read, written = (reply.prompt_tokens, reply.completion_tokens) if reply is not None else (0, 0)
        self._tally = replace(
            tally,
            steps=tally.steps + 1,
            prompt_tokens=tally.prompt_tokens + read,
            completion_tokens=tally.completion_tokens + written,
        )
        self._meters[0].add(now, 1)
        self._meters[2].add(now, written)
        if (history := self._history.get(episode)) is not None:
            history.append(step)
        if (view := self._views.get(episode)) is not None:
            action = step.action.kind if step.action is not None else "invalid"
            self._put(replace(view, step=step.index + 1, action=action))

    def kept(self, episode: str) -> None:
        """It is on the disk with all its steps: they are held here no longer, however long the judge takes."""
        self._history.pop(episode, None)

    def end(self, episode: str, outcome: Outcome) -> None:
        """It has its outcome, and will not change but for a verdict."""
        now, view = self._clock(), self._views.get(episode)
        doing = self._count(outcome)
        if view is not None and view.started is not None:
            self._tally = replace(self._tally, played=self._tally.played + 1)
            self._meters[1].add(now, 1)
        history = self._history.pop(episode, None)
        if history and outcome.kind in ("infra", "cancelled"):  # the store has only a line of it
            self._failed[episode] = tuple(_slim(step) for step in list(history)[-LAST:])
            if len(self._failed) > FAILED:
                del self._failed[next(iter(self._failed))]
        if view is None:  # never begun, and planned without a view
            self._doing["planned"] -= 1
            self._changed(None)
            return
        said = ": ".join(filter(None, (getattr(outcome, "reason", ""), getattr(outcome, "detail", ""))))
        self._doing[view.doing] -= 1
        self._put(replace(view, doing=doing, gate="", since=now, ended=now, outcome=outcome.kind, reason=said[:TEXT]))
        self._ended.append(episode)
        while len(self._views) > self._keep and self._ended:
            self._drop(self._ended.popleft())

    def restore(self, outcome: Outcome) -> None:
        """An episode of this plan ended in an earlier process: it is counted, and has no view."""
        self._tally = replace(self._tally, total=self._tally.total + 1)
        self._count(outcome)
        self._changed(None)

    def judged(self, episode: str, reward: int | None) -> None:
        """A judge has spoken; None: it could not score."""
        tally = self._tally
        self._tally = replace(tally, judged=tally.judged + (reward is not None), rewarded=tally.rewarded + (reward or 0))
        if (view := self._views.get(episode)) is not None:
            self._put(replace(view, reward=reward))

    def say(self, notice: str) -> None:
        """What the whole rollout waits for; empty: nothing."""
        if notice != self.notice:
            self.notice = notice
            self._changed(None)

    def finish(self) -> None:
        self.finished = True
        self._changed(None)

    def _count(self, outcome: Outcome) -> Doing:
        label = f"cancelled({outcome.reason})" if outcome.kind == "cancelled" else outcome.kind
        self._outcomes[label] = self._outcomes.get(label, 0) + 1
        doing: Doing = "done" if label in ("answered", "step_limit") else "failed"
        doing = "cancelled" if outcome.kind == "cancelled" else doing
        self._doing[doing] += 1
        return doing

    def _move(self, old: EpisodeView, new: EpisodeView) -> None:
        self._doing[old.doing] -= 1
        self._doing[new.doing] += 1
        self._put(new)

    def _put(self, view: EpisodeView) -> None:
        self._views[view.id] = view
        self._changed(view.id)

    def _drop(self, episode: str) -> None:
        del self._views[episode]
        for subscription in self._subscriptions:
            subscription.tell(episode, dropped=True)

    def _changed(self, episode: str | None) -> None:
        self.number += 1
        for subscription in self._subscriptions:
            subscription.tell(episode)


def _first_view(episode: str, task: Task, replica: int, limit: int, now: float) -> EpisodeView:
    return EpisodeView(
        episode, task.id, task.website[:TEXT], task.instruction[:TEXT], task.band, replica, since=now, limit=limit
    )


def _slim(step: Step) -> Step:
    """A step without what only a trainer needs: prompts and token ids are most of its weight."""
    reply = step.reply
    if reply is not None:
        slim = {"text": reply.text[:REPLY], "prompt_token_ids": None, "token_ids": None, "logprobs": None}
        reply = reply.model_copy(update=slim)
    return step.model_copy(update={"prompt": (), "visible": None, "reply": reply})
