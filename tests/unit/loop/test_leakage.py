"""A website that is trained and tested on stops a run before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from webgym.errors import ConfigError, LeakageError
from webgym.loop.leakage import check_apart, lies_on
from webgym.loop.running import checked_tasks
from webgym.loop.settings import LoopSettings
from webgym.tasks.files import write_tasks
from webgym.types import FactGroup, Split, Task


def task(name: str, website: str, split: Split) -> Task:
    groups = (FactGroup(id=1, description="it", facts=("it is so",)),)
    where = {"website": website, "domain": "Misc.", "subdomain": "News"}
    return Task(id=name, source="worlds", instruction="Do it", groups=groups, split=split, **where)


def write(path: Path, *tasks: Task) -> Path:
    write_tasks(path, tasks)
    return path


def test_websites_that_are_apart_pass_and_are_told(tmp_path: Path):
    tasks = write(
        tmp_path / "t.parquet",
        task("worlds-a", "https://a.example", "train"),
        task("worlds-b", "https://b.example", "test"),
        task("worlds-c", "", "train"),
    )
    assert check_apart(tasks, tasks) == {"b.example"}


@pytest.mark.parametrize("website", ["https://a.example", "http://a.example", "https://www.a.example"])
def test_a_website_on_both_sides_is_refused_however_it_is_written(tmp_path: Path, website: str):
    train = write(tmp_path / "t.parquet", task("worlds-a", "https://a.example", "train"))
    test = write(tmp_path / "u.parquet", task("worlds-b", website, "test"))
    with pytest.raises(LeakageError, match=r"1 websites have training tasks .* a\.example"):
        check_apart(train, test)


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example/deep/page?q=1#part",
        "http://www.A.example/",
        "blob:https://a.example/0b1c",
        "view-source:https://a.example/",
        "http://sub.localhost:8090/x",
    ],
)
def test_a_page_is_on_the_website_of_its_address(address: str):
    assert lies_on(address, {"a.example", "sub.localhost:8090"})


@pytest.mark.parametrize(
    "address",
    ["https://b.example/a.example", "https://nota.example/", "http://sub.localhost/", "about:blank", "data:text/html,a", ""],
)
def test_a_page_elsewhere_or_nowhere_is_not(address: str):
    assert not lies_on(address, {"a.example", "sub.localhost:8090"})


def loop(tmp_path: Path, tasks: Path, **more: object) -> LoopSettings:
    return LoopSettings.model_validate({"run": tmp_path / "run", "tasks": tasks, "checkpoint": tmp_path / "model", **more})


def test_the_loop_checks_before_it_makes_anything(tmp_path: Path):
    tasks = write(
        tmp_path / "t.parquet",
        task("worlds-a", "https://a.example", "train"),
        task("worlds-b", "https://a.example", "test"),
    )
    for every in (5, 0):  # what is not evaluated now may be later
        with pytest.raises(LeakageError):
            checked_tasks(loop(tmp_path, tasks, evaluation={"every": every}))
    assert not (tmp_path / "run").exists()


def test_tasks_that_nobody_judges_are_refused_at_once(tmp_path: Path):
    tasks = write(tmp_path / "t.parquet", task("live-a", "https://a.example", "train"))
    with pytest.raises(ConfigError, match="judge is 'auto', which leaves tasks without a judge"):
        checked_tasks(loop(tmp_path, tasks, evaluation={"every": 0}))
    assert checked_tasks(loop(tmp_path, tasks, evaluation={"every": 0}, judge="rubric")).judge == "rubric"


def test_an_evaluation_without_test_tasks_is_refused(tmp_path: Path):
    tasks = write(tmp_path / "t.parquet", task("worlds-a", "https://a.example", "train"))
    with pytest.raises(ConfigError, match="has no test task"):
        checked_tasks(loop(tmp_path, tasks))
