"""A rollout's events on the monitor: the engine's words become the monitor's, which knows nothing of the engine.

async with watching(events, run) as address:
    ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from webgym.rollout.events import Doing as EngineDoing
from webgym.rollout.events import EpisodeView, Events
from webgym.rollout.gates import GateStats
from webgym.store import Run
from webgym.types import Task
from webgym.ui.view import ENDS, Cell, Detail, Doing, Gate, Head
from webgym.ui.words import of_step

SHOWN_AS: Final[dict[EngineDoing, Doing]] = {
    "planned": "planned",
    "waiting": "waiting",
    "opening": "navigating",
    "navigating": "navigating",
    "screenshot": "screenshot",
    "model": "model",
    "executing": "executing",
    "saving": "saving",
    "judging": "judging",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
}
MODEL: Final = frozenset({"model"})
BROWSER: Final = frozenset({"allocate", "navigate", "step"})
MEASURE_SECONDS: Final = 1.0


class EventsBoard:
    """A rollout under way, as the monitor sees it. `task` finds a task by its id, for its whole instruction and facts;
    `size` is that of the browsers' windows, without which nobody can say where in a screenshot an agent aimed; at most
    `asked` requests to the model are under way, if that is known."""

    def __init__(
        self,
        events: Events,
        *,
        agent: str = "",
        task: Callable[[str], Task | None] | None = None,
        size: tuple[int, int] = (0, 0),
        asked: int | None = None,
    ) -> None:
        self._events, self._agent, self._task, self._size, self._asked = events, agent, task, size, asked
        self._drawn: dict[str, tuple[EpisodeView, Cell]] = {}
        self._busy: dict[str, float] = {}
        self._busy_at = events.started
        self._use: dict[frozenset[str], float] = {}

    def head(self) -> Head:
        state = self._events.state()
        self._measure(state.now, state.gates)
        counts: dict[Doing, int] = {}
        for one, count in state.counts.doing.items():
            shown = SHOWN_AS[one]  # type: ignore[index]  # by `Doing`, as the contract says
            counts[shown] = counts.get(shown, 0) + count
        return Head(
            run=state.run,
            agent=self._agent,
            live=not state.finished,
            total=state.counts.total,
            counts=counts,
            scored=state.counts.judged,
            passed=state.counts.rewarded,
            steps=state.counts.steps,
            retries=state.counts.retries,
            notice=state.notice,
            elapsed=max(0.0, state.now - state.started),
            tokens_per_second=state.rates.tokens_per_second,
            episodes_per_hour=state.rates.episodes_per_hour,
            steps_per_second=state.rates.steps_per_second,
            model_use=self._use.get(MODEL),
            browser_use=self._use.get(BROWSER),
            gates=tuple(_gate(one) for one in state.gates),
        )

    def cells(self) -> Sequence[Cell]:
        drawn: dict[str, tuple[EpisodeView, Cell]] = {}
        for view in self._events.state().episodes:
            before = self._drawn.get(view.id)
            drawn[view.id] = before if before is not None and before[0] is view else (view, _cell(view))
        self._drawn = drawn
        return [cell for _, cell in drawn.values()]

    def detail(self, episode: str) -> Detail | None:
        view = self._events.view(episode)
        if view is None:
            return None
        task = self._task(view.task) if self._task is not None else None
        cell = _cell(view)
        return Detail(
            id=view.id,
            task=view.task,
            instruction=task.instruction if task is not None else view.instruction,
            website=view.website,
            groups=task.groups if task is not None else (),
            agent=self._agent,
            doing=cell.doing,
            why=cell.why,
            step=view.step,
            limit=view.limit,
            width=self._size[0],
            height=self._size[1],
            steps=tuple(of_step(step) for step in self._events.history(episode)),
            screenshot=view.screenshot,
            url=view.url,
            title=view.title,
            seconds=max(0.0, (view.ended or self._events.state().now) - view.started) if view.started else 0.0,
        )

    def _measure(self, now: float, gates: tuple[GateStats, ...]) -> None:
        """How much of the places of the model and the browsers were taken since the last time."""
        passed = now - self._busy_at
        if passed < MEASURE_SECONDS:
            return
        for kind in (MODEL, BROWSER):
            # The fullest of its gates tells: a line forms there, however empty the others are.
            used = [
                (gate.busy - self._busy.get(gate.name, 0.0)) / (self._places(gate, gates) * passed)
                for gate in gates
                if gate.name in kind
            ]
            if used:
                self._use[kind] = min(1.0, max(0.0, *used))
        self._busy, self._busy_at = {gate.name: gate.busy for gate in gates}, now

    def _places(self, gate: GateStats, gates: tuple[GateStats, ...]) -> int:
        """How many can be inside at once: no more than there are slots, and at the model no more than it is asked."""
        most = [gate.size, *(one.size for one in gates if one.name == "slots")]
        return min(*most, self._asked) if self._asked is not None and gate.name in MODEL else min(most)


@asynccontextmanager
async def watching(
    events: Events,
    run: Run,
    *,
    agent: str = "",
    task: Callable[[str], Task | None] | None = None,
    size: tuple[int, int] = (0, 0),
    asked: int | None = None,
    port: int = 0,
) -> AsyncIterator[str]:
    """Serve the monitor of a rollout in this event loop; yields its address."""
    from webgym.ui.archive import Archive
    from webgym.ui.serving import monitoring

    board = EventsBoard(events, agent=agent, task=task, size=size, asked=asked)
    async with monitoring(board, Archive(run), port=port) as address:
        yield address


def _cell(view: EpisodeView) -> Cell:
    doing = SHOWN_AS[view.doing]
    why = view.reason
    if doing == "waiting" and view.gate:
        why = f"in line for {view.gate}"
    elif doing in ENDS and not why:
        why = view.outcome.replace("_", " ")
    return Cell(view.id, view.instruction[:160], doing, view.step, view.limit, view.reward, why)


def _gate(stats: GateStats) -> Gate:
    return Gate(
        name=stats.name,
        size=stats.size,
        busy=stats.inside,
        queued=stats.waiting,
        passed=stats.service.count,
        wait=stats.wait.mean,
        wait_p95=stats.wait.p95,
        service=stats.service.mean,
        service_p95=stats.service.p95,
    )
