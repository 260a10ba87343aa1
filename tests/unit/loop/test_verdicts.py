"""The judge's second look: what has no score is judged once more, and a judge that is down stops the loop."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.site.canary import free_port
from tests.unit.replay.making import Plan, make_episode, make_run
from webgym.errors import EndpointDown
from webgym.judging.running import Tally
from webgym.loop.settings import LoopSettings
from webgym.loop.verdicts import judge_rest
from webgym.store import Run


def loop(tmp_path: Path, **more: object) -> LoopSettings:
    return LoopSettings.model_validate({"run": tmp_path / "run", "tasks": tmp_path / "t", "agent": "random", **more})


async def test_what_is_unjudged_is_judged_and_what_a_verifier_cannot_tell_is_not_asked_twice(tmp_path: Path):
    plans = [Plan("a"), Plan("b"), Plan("broken", outcome="infra"), Plan("later", iteration=1)]
    told: list[int] = []

    def advance(tally: Tally) -> None:
        told.append(tally.done)

    with make_run(tmp_path / "run", plans) as run:
        settings = loop(tmp_path)
        name = await judge_rest(settings, "worlds", run, 0, advance)
        assert told == [1, 2], "neither the broken one nor that of another iteration"
        assert len(list(run.judgements(name))) == 2
        await judge_rest(settings, "worlds", run, 0, advance)
        assert told == [1, 2]


async def test_a_judge_that_is_down_stops_the_loop_instead_of_choosing_what_is_learned(tmp_path: Path):
    gone = {"url": f"http://127.0.0.1:{free_port()}/v1", "model": "m", "tries": 1, "patience": 0.1, "backoff": 0}
    picture = BytesIO()
    Image.new("RGB", (64, 64), "white").save(picture, "JPEG")
    with Run.create(tmp_path / "run", name="run") as run:
        run.plan(0, ["a", "b"])
        shot = run.images.put(picture.getvalue(), "jpeg")
        for task in ("a", "b"):
            run.commit(make_episode(Plan(task), [shot] * 4).model_copy(update={"answer": "It opens at ten."}))
        settings = loop(tmp_path, judge="rubric", rubric={"endpoint": gone})
        with pytest.raises(EndpointDown, match=r"the judge stopped: .* the same command goes on"):
            await judge_rest(settings, "rubric", run, 0, lambda _: None)
