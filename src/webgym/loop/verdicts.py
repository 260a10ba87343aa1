"""The judge's second look: episodes that were kept and have no score, because the judge failed or was cut short.

Episodes are judged as they end. What is still unscored then is judged once more here, without a browser. A judge that is
down stops the loop: to train on the few that it scored would be to train on what its outage chose. One that answers and
can score no episode of an iteration stops it, too: the next would be played for nothing as well. A few episodes that its
model falls over stop nothing: they would do so at every start, and there are too few of them to choose anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal

from webgym.errors import EndpointDown
from webgym.judge.models import Meters
from webgym.judging.assembly import rubric_judge
from webgym.judging.programmatic import WorldsJudge
from webgym.judging.running import SCORABLE, Judge, Patience, Tally, has_scored, judge_all, waiting
from webgym.loop.settings import LoopSettings
from webgym.rollout.blocking import BlockList
from webgym.store import Run

JudgeKind = Literal["worlds", "rubric"]
FEW: Final = 5
GIVE_UP_AFTER: Final = 20  # episodes that the judge's model is down for or can score none of; all, if there are fewer


async def judge_rest(
    settings: LoopSettings,
    kind: JudgeKind,
    store: Run,
    iteration: int,
    advance: Callable[[Tally], None],
    *,
    meters: Meters | None = None,
) -> str:
    """Score what has no score yet; returns whose verdicts count. Calls with the same `meters` have one budget together."""
    patience = Patience(GIVE_UP_AFTER)
    async with _judge(settings, kind, store, patience, meters) as judge:
        left = await asyncio.to_thread(waiting, store, judge.name, iteration=iteration)
        if left and kind == "worlds":  # a verifier that could not tell will not tell tomorrow
            judged = await asyncio.to_thread(store.latest_judgements, judge.name, left)
            left = [one for one in left if one not in judged]
        spared = len(left) < FEW and len(left) <= settings.faults * await asyncio.to_thread(_scorable, store, iteration)
        patience.give_up_after = GIVE_UP_AFTER if spared else min(GIVE_UP_AFTER, max(1, len(left)))
        # A judge that is of no use any more fails at many; at few, what it scored in earlier iterations speaks for it.
        among = iteration if len(left) >= FEW else None
        patience.has_scored = await asyncio.to_thread(has_scored, store, judge.name, iteration=among)
        await judge_all(store, judge, left, at_a_time=settings.engine.gates.judge, patience=patience, advance=advance)
        if patience.stopped is not None:
            raise EndpointDown(f"the judge stopped: {patience.stopped}. Put that right; the same command goes on")
        return judge.name


def _scorable(store: Run, iteration: int) -> int:
    """How many episodes of an iteration can be scored. Blocks."""
    outcomes = store.outcomes()
    found = (outcomes.get(one.id) for one in store.planned(iteration))
    return sum(1 for record in found if record is not None and record.stored and record.outcome.kind in SCORABLE)


@asynccontextmanager
async def _judge(
    settings: LoopSettings, kind: JudgeKind, store: Run, patience: Patience, meters: Meters | None
) -> AsyncIterator[Judge]:
    if kind == "worlds":
        yield WorldsJudge()
        return
    blocklist = BlockList(settings.blocked, hours=settings.engine.block_hours)
    trouble = patience.trouble
    async with rubric_judge(settings.rubric, store, blocklist=blocklist, meters=meters, trouble=trouble) as judge:
        yield judge
