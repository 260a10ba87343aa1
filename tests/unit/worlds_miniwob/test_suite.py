"""Names, ids, splits and addresses of the MiniWoB++ tasks."""

from urllib.parse import parse_qs, urlsplit

import pytest

from webgym.errors import ConfigError
from webgym.worlds.miniwob import suite

ORIGIN = "http://miniwob.localhost:8127"


def test_every_page_that_ships_is_a_task():
    names = suite.names()
    assert len(names) == len(set(names)) >= 130
    assert {"click-test", "enter-text", "book-flight", "flight.AA", "flight.Alaska-auto", "chase-circle"} <= set(names)
    assert set(names) >= suite.REAL_TIME


def test_an_id_fixes_the_problem_and_reads_back():
    task = suite.task("click-test", 7, origin=ORIGIN)
    assert task.id == "miniwob:click-test:7"
    assert suite.identify(task.id) == suite.Identity("click-test", 7)
    assert task.website == f"{ORIGIN}/click-test?seed=7"
    assert task.difficulty == 1


@pytest.mark.parametrize(
    "wrong", ["other:click-test:7", "miniwob:click-test", "miniwob::7", "miniwob:a:-1", "miniwob:a:9999999999"]
)
def test_a_foreign_id_is_refused(wrong: str):
    with pytest.raises(ConfigError, match="no id"):
        suite.identify(wrong)


def test_a_task_that_does_not_ship_is_refused():
    with pytest.raises(ConfigError, match="no task 'click-tset'"):
        suite.task("click-tset", 1, origin=ORIGIN)


def test_a_test_seed_asks_the_page_for_its_test_data():
    train = suite.task("click-test-transfer", 5, origin=ORIGIN)
    test = suite.task("click-test-transfer", suite.TEST_SEEDS + 5, origin=ORIGIN)
    assert (train.split, test.split) == ("train", "test")
    assert "mode" not in parse_qs(urlsplit(train.website).query)
    assert parse_qs(urlsplit(test.website).query)["mode"] == ["test"]


def test_split_by_seeds_shares_tasks_but_no_seed():
    train = list(suite.tasks("train", origin=ORIGIN, seeds=3))
    test = list(suite.tasks("test", origin=ORIGIN, seeds=2))
    assert len(train) == 3 * (len(suite.names()) - len(suite.REAL_TIME))
    assert {t.provenance.file for t in train} == {t.provenance.file for t in test}
    assert not {t.id for t in train} & {t.id for t in test}
    assert not {suite.identify(t.id).seed for t in train} & {suite.identify(t.id).seed for t in test}


def test_tasks_on_the_clock_come_only_if_asked_for():
    def names(**how: bool) -> set[str]:
        return {suite.identify(task.id).name for task in suite.tasks("test", origin=ORIGIN, **how)}

    assert names(real_time=True) == set(suite.names())
    assert names() == set(suite.names()) - suite.REAL_TIME


def test_split_by_tasks_shares_no_family():
    train = {t.subdomain for t in suite.tasks("train", origin=ORIGIN, by="tasks")}
    test = {t.subdomain for t in suite.tasks("test", origin=ORIGIN, by="tasks")}
    assert test == suite.HELD_OUT
    assert not train & test


def test_seeds_of_one_split_never_run_into_the_other():
    with pytest.raises(ConfigError, match="train split"):
        next(suite.tasks("train", origin=ORIGIN, seeds=2, first=suite.TEST_SEEDS - 1))


@pytest.mark.parametrize(
    ("name", "family"),
    [("click-tab-2-hard", "click-tab"), ("email-inbox-forward-nl-turk", "email-inbox"), ("enter-text", "enter-text")],
)
def test_variants_belong_to_one_family(name: str, family: str):
    assert suite.family(name) == family
