"""The commands as a person gives them: the rubric judge on a model whose errors are known, stored verdicts, outside sets."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image
from rich.console import Console

from tests.unit.judge_bench.episodes import TRUTH, labelled_run, task
from webgym.cli import main
from webgym.endpoint import EndpointSettings
from webgym.errors import ConfigError
from webgym.judge.bench.figures import Estimate, Figures
from webgym.judge.settings import JudgeSettings
from webgym.judging.bench_command import bench
from webgym.judging.bench_settings import BenchSettings
from webgym.store import Run
from webgym.store.plan import episode_id
from webgym.types import Scored

EPISODES = 150
WRONG = 0.15  # facts about which the model says the opposite of what is true
QUICK = {"backoff": 0.01, "max_backoff": 0.02, "timeout": 5.0, "tries": 2, "patience": 1.0}


def picture() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (64, 40), (200, 180, 90)).save(written, "PNG")
    return written.getvalue()


class Model:
    """An OpenAI-compatible server that answers the rubric judge's question and errs about facts at a set rate."""

    def __init__(self, truths: dict[str, Scored], *, status: int = 200) -> None:
        self._truths, self._status = truths, status
        self.requests = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=16 << 20)
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.requests += 1
        if self._status != 200:
            return web.json_response({"error": {"message": "out of order"}}, status=self._status)
        body: dict[str, Any] = await request.json()
        assert body["response_format"]["json_schema"]["name"] == "WholeReply"
        asked = re.search(r"How much is lamp (\d+)\?", json.dumps(body["messages"]))
        assert asked is not None
        told = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self._said(int(asked[1]))}}
        return web.json_response({"choices": [told], "usage": {"prompt_tokens": 900, "completion_tokens": 100}})

    def _said(self, number: int) -> str:
        truth, chance = self._truths[episode_id("bench", 0, task(number).id)], random.Random(f"flip {number}")
        sure = {"reason": "as the picture shows", "confidence": 90}
        facts = [
            {"fact": place, "screenshots": [1], "met": fact.met != (chance.random() < WRONG), **sure}
            for place, fact in enumerate(truth.facts, 1)
        ]
        claims = {"unsupported": [], "supported": True, **sure}
        blocking = {"blocked": False, **sure}
        said = {"orders": [], "blocking": blocking, "claims": claims, "comparison": None, "facts": facts}
        return json.dumps(said)


def holds(estimate: Estimate, value: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= value <= estimate.high


def settings(folder: Path, url: str, **changes: Any) -> BenchSettings:
    endpoint = EndpointSettings.model_validate({"url": url, "model": "m", **QUICK})
    return BenchSettings.model_validate({"labelled": folder, "rubric": JudgeSettings(endpoint=endpoint), **changes})


def read(folder: Path) -> Figures:
    (found,) = folder.glob("*.json")
    assert found.with_suffix(".svg").read_text().startswith("<svg")
    return Figures.model_validate_json(found.read_bytes())


def expected(truths: dict[str, Scored]) -> float:
    """How often a reward is right if each fact is told wrongly at the rate: all facts must be called met for a reward."""
    right = 0.0
    for truth in truths.values():
        rewarded = 1.0
        for fact in truth.facts:
            rewarded *= 1 - WRONG if fact.met else WRONG
        right += rewarded if truth.reward else 1 - rewarded
    return right / len(truths)


@pytest.mark.timeout(200)
async def test_the_rubric_judges_error_rate_is_recovered_and_measuring_again_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder, told = tmp_path / "bench", io.StringIO()
    run, truths = labelled_run(folder, EPISODES, picture=picture())
    run.close()
    model = Model(truths)
    async with model.serving() as url:
        assert await bench(settings(folder, url), Console(file=told)) == 0
        found, asked = read(tmp_path / "bench-figures"), model.requests
        assert await bench(settings(folder, url, out=tmp_path / "again"), Console(file=told)) == 0
    assert asked == model.requests == EPISODES
    assert found.overall.unscorable.value == 0
    assert found.facts is not None
    assert holds(found.facts.accuracy, 1 - WRONG)
    assert not holds(found.facts.accuracy, 1.0)
    assert holds(found.overall.accuracy, expected(truths))
    assert found.spent.tokens == 1000 * EPISODES
    again = read(tmp_path / "again")
    assert (again.overall, again.facts, again.spent.tokens) == (found.overall, found.facts, 0)
    with Run.open(folder, read_only=True) as run:
        assert len(run.latest_judgements(found.judge)) == EPISODES
        assert len(run.latest_judgements(TRUTH)) == EPISODES
    assert "all episodes" in capsys.readouterr().out
    assert "tokens and $" in told.getvalue()
    stored = settings(folder, url, judge="stored", stored=found.judge, out=tmp_path / "stored")
    assert await bench(stored, Console(file=told)) == 0
    assert read(tmp_path / "stored").overall == found.overall


async def test_a_model_that_refuses_everyone_stops_the_bench_and_leaves_no_figures(tmp_path: Path):
    run, truths = labelled_run(tmp_path / "bench", 12, picture=picture())
    run.close()
    model, told = Model(truths, status=401), io.StringIO()
    async with model.serving() as url:
        assert await bench(settings(tmp_path / "bench", url, at_once=1), Console(file=told)) == 1
    assert model.requests < 12
    assert "Stopped" in told.getvalue()
    assert not (tmp_path / "bench-figures").exists()


async def test_a_judge_that_cannot_speak_of_these_tasks_is_unscorable_throughout(tmp_path: Path):
    run, _ = labelled_run(tmp_path / "bench", 6)
    run.close()
    told = io.StringIO()
    wanted = BenchSettings.model_validate({"judge": "worlds", "labelled": tmp_path / "bench"})
    assert await bench(wanted, Console(file=told)) == 0
    found = read(tmp_path / "bench-figures")
    assert found.overall.unscorable.value == 1.0
    assert found.overall.accuracy.value is None
    assert "unscorable 1 times" in told.getvalue()


async def test_verdicts_of_a_stranger_are_asked_for_in_vain_and_it_is_said_whose_there_are(tmp_path: Path):
    run, _ = labelled_run(tmp_path / "bench", 2)
    run.close()
    wanted = BenchSettings.model_validate({"judge": "stored", "stored": "nobody", "labelled": tmp_path / "bench"})
    with pytest.raises(ConfigError, match=TRUTH):
        await bench(wanted, Console(file=io.StringIO()))


def test_a_set_is_imported_and_measured_on_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number, name in enumerate(("aa", "bb")):
        shots = tmp_path / "set" / name / "trajectory"
        shots.mkdir(parents=True)
        (shots / "0.png").write_bytes(picture())
        result = {"task": f"Task {number}", "action_history": ["go"], "final_result_response": "done"}
        (shots.parent / "result.json").write_text(json.dumps(result))
    labels = [{"task_id": name, "Me_human_label": value} for name, value in (("aa", "1"), ("bb", "0"), ("cc", "7"))]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    arguments = ["judge", "import", "--format", "online-mind2web", "--source", str(tmp_path / "set"), "--agent", "Me"]
    arguments += ["--labels", str(tmp_path / "labels.json"), "--run", str(tmp_path / "people")]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "2 episodes in" in said
    assert "1 of them successes" in said
    assert "labels.json, record 3: Me_human_label is '7', not 0, 1 or 2" in said
    people = "people of online-mind2web on Me"
    measured = ["judge", "bench", "--labelled", str(tmp_path / "people"), "--judge", "stored", "--stored", people]
    assert main(measured) == 0
    assert read(tmp_path / "people-figures").overall.accuracy.value == 1.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench", "--judge", "stored"], "stored verdicts need a judge's identity"),
        (["bench", "--labelled", "/nowhere"], "is no run"),
        (["import", "--format", "online-mind2web", "--source", ".", "--run", "x"], "needs labels and agent"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    assert main(["judge", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_help_shows_the_bench(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["judge", "bench", "--help"])
    assert "--episodes" in capsys.readouterr().out
