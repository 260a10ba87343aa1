"""`webgym judge`: what is judged, what is judged again, what it says and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.standin.judge import JudgingModel
from tests.unit.judge.judged import QUICK, settings_for
from tests.unit.judge.stored import make_run, rewards
from webgym import cli
from webgym.errors import BudgetSpent, ConfigError, EndpointDown, EndpointRefused, UnusableReply, WebGymError
from webgym.judging.assembly import rubric_judge
from webgym.judging.diff import Judged, compare, read_verdicts
from webgym.judging.running import Patience, judge_all, waiting
from webgym.store import Run
from webgym.store.audit import audit
from webgym.store.verdicts import folder_of
from webgym.types import FactResult, Judgement, Scored, Unscorable


@pytest.fixture
async def model() -> AsyncIterator[JudgingModel]:
    async with JudgingModel() as running:
        yield running


async def judge_run(run: Run, model: JudgingModel, *, at_a_time: int = 4, **more: Any) -> str:
    """Judge what waits; returns the judge's name."""
    patience = Patience(20)
    async with rubric_judge(settings_for(model, **more), run, trouble=patience.trouble) as judge:
        await judge_all(run, judge, waiting(run, judge.name), at_a_time=at_a_time, patience=patience)
        return judge.name


async def webgym(*arguments: object) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "webgym.cli", *map(str, arguments),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_every_kept_episode_is_judged_once_and_the_audit_is_clean(tmp_path: Path, model: JudgingModel) -> None:
    with make_run(tmp_path / "run", 7, broken=2) as run:
        name = await judge_run(run, model)
        assert rewards(run, name) == [1, 1, 0, 1, 1, 0, 1]
        calls = len(model.kinds)
        assert calls == 7
        assert waiting(run, name) == []
        assert len(waiting(run, name, again=True)) == 7
    assert audit(tmp_path / "run", finished=True).clean


async def test_what_was_unscorable_is_judged_again_and_what_was_scored_is_not(tmp_path: Path, model: JudgingModel) -> None:
    with make_run(tmp_path / "run", 4) as run:
        turn = iter(["no", "no"])
        model.mangle = lambda kind, good: next(turn, None) or json.dumps(good)
        name = await judge_run(run, model, at_a_time=1)
        assert rewards(run, name).count(None) == 1
        await judge_run(run, model, at_a_time=1)
        assert rewards(run, name) == [1, 1, 0, 1]
        assert len(list(run.judgements(name))) == 5, "every judgement is kept"
        assert len(model.kinds) == 6, "two bad replies, three good ones, and a good one for the bad ones"


async def test_another_model_is_another_judge_and_both_verdicts_stay(tmp_path: Path, model: JudgingModel) -> None:
    with make_run(tmp_path / "run", 3) as run:
        names = {await judge_run(run, model, endpoint={"model": one}) for one in ("large", "larger")}
        assert len(names) == 2
        assert all(rewards(run, name) == [1, 1, 0] for name in names)


async def test_where_a_model_is_and_how_hard_it_is_asked_is_not_who_it_is(model: JudgingModel) -> None:
    one = settings_for(model)
    same = settings_for(model, endpoint={"url": "http://elsewhere.example/v1", "concurrency": 3, "budget": None})
    other = [
        settings_for(model, endpoint={"model": "small"}),
        settings_for(model, joined=False),
        settings_for(model, evidence={"most": 3}),
        settings_for(model, cascade={"endpoint": {"model": "small"}}),
        settings_for(model, cascade={"endpoint": {"model": "small"}, "accept": 50}),
        settings_for(model, endpoint={"sampling": {"seed": 1, "temperature": 0}}),
    ]
    assert one.identity("p") == same.identity("p")
    assert len({one.identity("p"), one.identity("q"), *(each.identity("p") for each in other)}) == len(other) + 2


async def test_a_model_that_is_gone_stops_the_run_and_loses_nothing(tmp_path: Path, model: JudgingModel) -> None:
    with make_run(tmp_path / "run", 12) as run:
        await model.die()
        patience = Patience(3)
        async with rubric_judge(settings_for(model), run, trouble=patience.trouble) as judge:
            tally = await judge_all(run, judge, waiting(run, judge.name), at_a_time=1, patience=patience)
        assert patience.stopped is not None
        assert tally.done == 3
        await model.revive()
        name = await judge_run(run, model)
        assert rewards(run, name) == [1, 1, 0] * 4


@pytest.mark.parametrize(
    ("error", "stops"),
    [
        (EndpointRefused("wrong key", status=401), True),
        (EndpointRefused("no such model", status=404), True),
        (EndpointRefused("too large", status=413), False),
        (BudgetSpent("all gone"), True),
        (UnusableReply("prose", fault="malformed"), False),
        (EndpointDown("once"), False),
    ],
    ids=str,
)
def test_what_would_meet_every_question_stops_at_once(error: Exception, stops: bool):
    patience = Patience(2)
    patience.trouble(error)  # type: ignore[arg-type]
    assert (patience.stopped is not None) == stops


def test_only_a_row_of_failures_counts():
    patience = Patience(2)
    for _ in range(5):
        patience.trouble(EndpointDown("gone"))
        patience.relief()
    assert patience.stopped is None


@pytest.mark.parametrize(
    "error", [UnusableReply("prose", fault="malformed"), EndpointRefused("the context is 4096 tokens", status=400)], ids=str
)
def test_a_judge_that_can_score_nothing_stops_and_one_that_has_scored_does_not(error: WebGymError):
    patience = Patience(3)
    for _ in range(3):
        assert patience.stopped is None
        patience.trouble(error)
    assert patience.stopped is not None
    assert "none of 3 episodes could be scored" in patience.stopped
    assert str(error) in patience.stopped
    among_good_ones = Patience(3)
    among_good_ones.relief()
    for _ in range(9):
        among_good_ones.trouble(error)
    assert among_good_ones.stopped is None, "it can judge: these are the episodes' own"


async def test_the_command_judges_says_what_it_cost_and_does_nothing_the_second_time(
    tmp_path: Path, model: JudgingModel
) -> None:
    make_run(tmp_path / "run", 3).close()
    config = tmp_path / "judge.yaml"
    endpoint = {"url": model.url, "model": "large", "prices": {"large": {"input": 1.0, "output": 2.0}}, **QUICK}
    config.write_text(json.dumps({"rubric": {"endpoint": endpoint}}))
    code, _, err = await webgym("judge", tmp_path / "run", "--config", config)
    assert code == 0, err
    assert "2 of 3 scored (67%)" in err
    assert "3 calls, 0 from the cache" in err
    assert "dollars" in err
    code, _, err = await webgym("judge", tmp_path / "run", "--config", config)
    assert (code, len(model.kinds)) == (0, 3)
    assert "Nothing to do" in err
    code, _, err = await webgym("judge", tmp_path / "run", "--config", config, "--again")
    assert (code, len(model.kinds)) == (0, 3), "the cache knows it all"
    assert "0 calls, 3 from the cache" in err


async def test_the_command_tells_a_dead_model_from_an_unscorable_episode(tmp_path: Path, model: JudgingModel) -> None:
    make_run(tmp_path / "run", 2).close()
    model.mangle = lambda kind, good: "It went well."
    at = ("judge", tmp_path / "run", "--rubric.endpoint.url", model.url, "--rubric.endpoint.tries", 1)
    code, _, err = await webgym(*at)
    assert code == 3
    assert "2 UnusableReply" in err
    code, _, err = await webgym(*at, "--give-up-after", 2)
    assert code == 1
    assert "none of 2 episodes could be scored" in err
    await model.die()
    code, _, err = await webgym(*at, "--give-up-after", 1)
    assert code == 1
    assert "The same command goes on" in err
    await model.revive()
    model.mangle = None
    assert (await webgym(*at))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rubric.endpoint.sampling.temperature", "0.7"], "a judge's must be 0"),
        (["--rubric.facts.model", "other"], "joined is true"),
        (["--rubric.evidence.most", "49"], "rubric.evidence.most"),
        (["--rubrics", "nowhere.parquet"], "nowhere.parquet"),
        (["--rubric.endpoint.key-variable", "NO_SUCH_KEY"], "NO_SUCH_KEY"),
    ],
)
def test_a_wrong_setting_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
):
    make_run(tmp_path / "run", 1).close()
    assert cli.main(["judge", str(tmp_path / "run"), *arguments]) == cli.EXIT_USAGE
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


async def test_another_rubric_is_another_judge(tmp_path: Path, model: JudgingModel) -> None:
    from tests.unit.judge.judged import make_task
    from webgym.tasks.files import write_tasks

    make_run(tmp_path / "run", 3).close()
    write_tasks(tmp_path / "better.parquet", [make_task(2, n=n) for n in range(3)])
    at = ("judge", tmp_path / "run", "--rubric.endpoint.url", model.url)
    assert (await webgym(*at))[0] == 0
    assert (await webgym(*at, "--rubrics", tmp_path / "better.parquet"))[0] == 0
    with Run.open(tmp_path / "run", read_only=True) as run:
        by_judge = {one.judge: rewards(run, one.judge) for one in run.judgements()}
    assert sorted(by_judge.values()) == [[1, 1, 0], [1, 1, 1]], "what the third missed is not asked any more"


# comparing


def judged(episode: int, reward: int | None, judge: str, met: tuple[bool, ...] = ()) -> Judgement:
    facts = tuple(FactResult(group=1, fact=f"fact {n}", met=one) for n, one in enumerate(met))
    verdict: Scored | Unscorable
    if reward is None:
        verdict = Unscorable(reason="the model was away")
    else:
        verdict = Scored.model_validate({"reward": reward, "facts": facts, "reason": "" if reward else "a \x1b[31mreason"})
    return Judgement(episode=f"{episode:032x}", judge=judge, verdict=verdict, dollars=0.5, tokens=10, judged=1.0)


A = Judged.of([judged(5, 0, "a"), *(judged(n, r, "a") for n, r in enumerate([1, 1, 0, 0, None, 1]))])
B = Judged.of(judged(n, r, "b") for n, r in enumerate([1, 0, 0, 1, 1]))


def test_two_judges_are_compared_where_both_have_scored():
    diff = compare(A, B)
    assert diff.compared == 4
    assert diff.agreement == 0.5
    assert diff.kappa == 0.0
    assert (diff.only, diff.unscorable, diff.dollars, diff.tokens) == ((1, 0), (1, 0), (3.5, 2.5), (70, 50))
    assert [one.rewards for one in diff.disagreements] == [(1, 0), (0, 1)]


def test_facts_are_compared_one_by_one():
    one = Judged.of([judged(0, 0, "a", (True, False, True))])
    other = Judged.of([judged(0, 0, "b", (True, True))])
    assert compare(one, other).fact_agreement == 0.5


def test_judges_that_agree_on_everything_have_a_kappa_of_one_unless_there_is_nothing_to_tell_apart():
    assert compare(A, A).kappa == 1.0
    same = Judged.of(judged(n, 1, "a") for n in range(3))
    assert compare(same, same).kappa is None


def test_verdicts_are_found_by_folder_file_or_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with make_run(tmp_path / "run", 3) as run:
        episodes = [one.id for one in run.planned()]
        for judge, given in (("judge one", (1, 1, 0)), ("judge two", (1, 0, 0))):
            if judge == "judge two":
                assert len(read_verdicts(tmp_path / "run").latest) == 3
            for n, reward in enumerate(given):
                run.add_judgement(judged(n, reward, judge).model_copy(update={"episode": episodes[n]}))
    folders = [tmp_path / "run" / "verdicts" / folder_of(judge) for judge in ("judge one", "judge two")]
    with pytest.raises(ConfigError, match="2 judges"):
        read_verdicts(tmp_path / "run")
    assert read_verdicts(folders[0]).latest.keys() == read_verdicts(folders[1] / "judgements.jsonl").latest.keys()
    assert cli.main(["judge", "diff", *map(str, folders)]) == 0
    out = capsys.readouterr().out
    assert "agreement 66.7%" in out
    assert "\x1b[31m" not in out, "what a model said does not colour the terminal"


def test_a_folder_without_verdicts_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="has no verdicts"):
        read_verdicts(tmp_path)
