"""The tasks of a warm-up, and its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.replay.making import JUDGE, Plan, make_run
from webgym import demo
from webgym.agents.dialects import DIALECTS, DialectName, dialect
from webgym.config import load
from webgym.demonstrating.settings import Practice, WarmUpSettings
from webgym.demonstrating.warming import keep_replies, write_families
from webgym.errors import ConfigError, RolloutStopped
from webgym.judging.programmatic import WorldsJudge
from webgym.loop.leakage import check_apart
from webgym.loop.settings import LoopSettings
from webgym.store import Run
from webgym.store.samples import read_samples
from webgym.tasks.files import TaskFile
from webgym.worlds.sites import KINDS

CONFIGS = Path(__file__).parents[3] / "configs"


def settings_in(folder: Path, *given: str) -> WarmUpSettings:
    arguments = ["--config", str(CONFIGS / "proof-warm-up.yaml"), "--folder", str(folder), *given]
    return load(WarmUpSettings, arguments, command="webgym warm-up")


def test_no_website_is_shown_and_practised_or_tested(tmp_path):
    settings = settings_in(tmp_path, "--demonstrations", "24", "--practice.train-sites", "3", "--practice.test-sites", "2")
    shown = tmp_path / "shown.parquet"
    write_families(settings, shown)
    with TaskFile.open(shown) as demonstrated, TaskFile.open(settings.tasks_file) as written:
        first, rest = list(demonstrated), list(written)
    kinds, each = len(settings.practice.kinds), settings.practice.each
    assert len(first) == settings.episodes == 24 + kinds * settings.practice.shown
    assert [sum(task.split == split for task in rest) for split in ("train", "test")] == [kinds * 3 * each, kinds * 2]
    assert not {task.website for task in first} & {task.website for task in rest}
    practised = {task.subdomain for task in rest}
    assert sum(task.subdomain in practised for task in first) == kinds * settings.practice.shown
    assert len(check_apart(settings.tasks_file, settings.tasks_file)) == kinds * 2


@pytest.mark.parametrize(
    ("kinds", "practised", "added"),
    [
        ((), (), 0),
        ((), ("bank",), 0),
        (("shop", "bank"), (), len(KINDS) - 2),
        (("shop", "bank"), ("bank", "news"), 1),
        (("shop",), ("bank", "news"), 2),
    ],
)
def test_a_practised_kind_is_shown_too_unless_it_is_already(
    tmp_path, kinds: tuple[str, ...], practised: tuple[str, ...], added: int
):
    practice = Practice(kinds=practised, train_sites=1, test_sites=1, shown=2)
    settings = settings_in(tmp_path, "--demonstrations", "24").model_copy(update={"kinds": kinds, "practice": practice})
    write_families(settings, tmp_path / "shown.parquet")
    with TaskFile.open(tmp_path / "shown.parquet") as file:
        shown = [task.id for task in file]
    assert len(shown) == len(set(shown)) == settings.episodes == 24 + 2 * added


def test_tasks_that_are_there_are_not_made_again(tmp_path):
    settings = settings_in(tmp_path, "--demonstrations", "12", "--practice.train-sites", "1", "--practice.test-sites", "1")
    write_families(settings, tmp_path / "shown.parquet")
    before = settings.tasks_file.stat().st_mtime_ns
    write_families(settings, tmp_path / "shown.parquet")
    assert settings.tasks_file.stat().st_mtime_ns == before


def test_an_unknown_kind_of_site_is_refused_before_anything_is_written(tmp_path):
    settings = settings_in(tmp_path, "--practice.kinds", "casino")
    with pytest.raises(ConfigError, match="casino"):
        write_families(settings, tmp_path / "shown.parquet")
    assert not settings.tasks_file.exists()


def test_the_warm_up_shows_pages_as_the_loop_will(tmp_path):
    """What was learned from demonstrations must not look different in practice."""
    shown = settings_in(tmp_path)
    loop = load(LoopSettings, ["--config", str(CONFIGS / "proof.yaml")], command="webgym train")
    assert shown.model.model_dump(exclude={"policy"}) == loop.model.model_dump(exclude={"policy"})
    assert shown.engine.session == loop.engine.session
    assert shown.worlds == loop.worlds
    assert loop.checkpoint == Path("runs/proof/seed-0/warm")
    assert loop.tasks == Path("runs/proof/tasks.parquet")
    assert loop.continue_optimizer, "practice goes on with the warm-up's optimiser"


def test_the_demo_goes_on_with_the_optimiser_of_its_warm_up(tmp_path):
    loop = demo._loop(demo.DemoSettings(folder=tmp_path), 8090, tmp_path / "warm")
    assert loop.continue_optimizer
    assert loop.checkpoint == tmp_path / "warm"


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_that_shows_no_marks_is_refused_before_anything_is_played(tmp_path, name: DialectName):
    given = ["--folder", str(tmp_path), "--model.dialect", name]
    if dialect(name).look.marks:
        assert load(WarmUpSettings, given, command="webgym warm-up").model.dialect == name
        return
    with pytest.raises(ConfigError, match=rf"model\.dialect is {name}, .*qwen3_vl_marks"):
        load(WarmUpSettings, given, command="webgym warm-up")


def test_the_defaults_alone_are_refused_with_the_dialect_to_choose(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.dialect is qwen3_vl, .*qwen3_vl_marks"):
        load(WarmUpSettings, ["--folder", str(tmp_path)], command="webgym warm-up")


def demonstrated(path: Path, plans: list[Plan]) -> Run:
    """A run of demonstrations, judged by the verifier."""
    run = make_run(path, plans)
    for judgement in list(run.judgements(JUDGE)):
        run.add_judgement(judgement.model_copy(update={"judge": WorldsJudge.name}))
    return run


def test_demonstrations_that_teach_nothing_are_an_error_and_leave_no_samples_behind(tmp_path):
    samples = tmp_path / "samples.parquet"
    plans = [
        Plan(task="one", verdict="failure"),
        Plan(task="two", outcome="step_limit", verdict="failure"),
        Plan(task="three", verdict="unscorable"),
        Plan(task="four", unchanged=(0, 1, 2)),
    ]
    with demonstrated(tmp_path / "demonstrations", plans) as run, pytest.raises(RolloutStopped) as stopped:
        keep_replies(run, samples)
    assert "none of the 4 demonstrations" in str(stopped.value)
    assert "2 episodes failed, 1 episodes unscorable, 3 steps unchanged" in str(stopped.value)
    assert [path.name for path in tmp_path.iterdir()] == ["demonstrations"]


def test_the_replies_of_demonstrations_that_succeeded_are_kept(tmp_path):
    samples = tmp_path / "samples.parquet"
    with demonstrated(tmp_path / "demonstrations", [Plan(task="one"), Plan(task="two", verdict="failure")]) as run:
        keep_replies(run, samples)
    assert [sample.task for sample in read_samples(samples)] == ["one"] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demonstrations", "samples.parquet"]
