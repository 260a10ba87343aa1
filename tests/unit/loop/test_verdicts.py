"""The judge's second look: what has no score is judged once more, and a judge that is down stops the loop."""

from __future__ import annotations

import json
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path

import pytest
from aiohttp import web
from PIL import Image

from tests.site.canary import free_port
from tests.standin.judge import JudgingModel
from tests.unit.judge.judged import QUICK
from tests.unit.judge.stored import make_run as make_judged
from tests.unit.judge.stored import rewards
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


def asks(tmp_path: Path, model: JudgingModel, **more: object) -> LoopSettings:
    return loop(tmp_path, judge="rubric", rubric={"endpoint": {"url": model.url, "model": "large", **QUICK}}, **more)


async def test_a_judge_that_can_score_nothing_stops_the_loop_and_says_why(tmp_path: Path):
    async with JudgingModel() as model:
        model.mangle = lambda kind, good: web.json_response({"error": "the context is 4096 tokens", "usage": {}}, status=400)
        with make_judged(tmp_path / "run", 3) as run:
            with pytest.raises(EndpointDown, match=r"none of 3 episodes could be scored, .*the context is 4096 tokens"):
                await judge_rest(asks(tmp_path, model), "rubric", run, 0, lambda _: None)
            model.mangle = None
            name = await judge_rest(asks(tmp_path, model), "rubric", run, 0, lambda _: None)
            assert rewards(run, name) == [1, 1, 0]


async def test_an_episode_that_no_reply_fits_stops_nothing_where_others_are_scored(tmp_path: Path):
    async with JudgingModel() as model:
        turn = iter(["no", "no"])
        model.mangle = lambda kind, good: next(turn, None) or json.dumps(good)
        with make_judged(tmp_path / "run", 3) as run:
            settings = asks(tmp_path, model, engine={"gates": {"judge": 1}})
            name = await judge_rest(settings, "rubric", run, 0, lambda _: None)
            assert rewards(run, name).count(None) == 1
            model.mangle = lambda kind, good: "no"
            await judge_rest(settings, "rubric", run, 0, lambda _: None)
            assert rewards(run, name).count(None) == 1, "the second look is at nothing else, and does not stop for it"


@pytest.mark.parametrize(("failing", "stops"), [(1, False), (2, True)], ids=["a tenth at most", "more"])
async def test_few_episodes_that_the_judges_model_falls_over_stop_nothing_where_the_others_are_scored(
    tmp_path: Path, failing: int, stops: bool
):
    fallen = web.json_response({"error": "of this picture", "usage": {}}, status=500)
    async with JudgingModel() as model:
        tries = iter(range(QUICK["tries"] * failing))
        model.mangle = lambda kind, good: json.dumps(good) if next(tries, None) is None else again(fallen)
        with make_judged(tmp_path / "run", 12) as run:
            settings = asks(tmp_path, model, engine={"gates": {"judge": 1}})
            name = await judge_rest(settings, "rubric", run, 0, lambda _: None)
            assert rewards(run, name).count(None) == failing
            model.mangle = lambda kind, good: again(fallen)
            with pytest.raises(EndpointDown, match="down for 2 episodes in a row") if stops else nullcontext():
                await judge_rest(settings, "rubric", run, 0, lambda _: None)
            assert rewards(run, name).count(None) == failing


def again(response: web.Response) -> web.Response:
    """A response can be sent once."""
    return web.Response(body=response.body, status=response.status, content_type=response.content_type)
