"""Tasks that open a page of a site's menu."""

from __future__ import annotations

import pytest

from webgym.errors import ConfigError
from webgym.types import Answer as Said
from webgym.types import Answered, Episode, Scored, Step
from webgym.worlds import families, navigating, tasks, verify
from webgym.worlds.names import site_of
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import TaskId


def task_on(host: str, number: int = 0):
    return tasks.make(TaskId(0, (host,), navigating.NAVIGATE, (1,), number))


def episode(task, path: str, answer: str) -> Episode:
    host = task.id.hosts[0]
    step = Step(
        index=0, screenshot=None, url=f"http://{host}:8090{path}", title="", visible="heading", action=Said(text=answer)
    )
    return Episode(
        id="0" * 32, run="r", iteration=0, task=task.task(), agent="a", width=1, height=1, steps=(step,), answer=answer,
        outcome=Answered(), started=0, ended=1,
    )  # fmt: skip


def reward(task, path: str, answer: str = "Done") -> int:
    verdict = verify.verify(episode(task, path, answer))
    assert isinstance(verdict, Scored)
    return verdict.reward


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_pages_to_open_each_at_an_address_of_its_own(kind):
    for host in families.hosts(0, "train", 3, [kind]):
        links = navigating.destinations(site_of(0, host))
        assert len(links) >= 3
        assert len({link.href for link in links}) == len({link.text for link in links}) == len(links)


def test_a_page_that_sends_strangers_elsewhere_is_not_asked_for():
    (bank,) = families.hosts(0, "train", 1, ["bank"])
    assert "My accounts" not in [link.text for link in navigating.destinations(site_of(0, bank))]


def test_the_instruction_names_the_page_and_its_id_makes_the_task_again():
    (host,) = families.hosts(0, "test", 1, ["library"])
    task = task_on(host, 3)
    assert f'"{task.groups[0].ask}"' in task.text
    assert tasks.find(str(task.id)) == task


def test_opening_the_page_and_saying_so_is_a_success_and_nothing_less_is():
    (host,) = families.hosts(0, "test", 1, ["library"])
    task = task_on(host)
    (check,) = task.groups[0].facts[0].checks
    assert reward(task, check.page) == 1
    assert reward(task, check.page, answer="") == 0
    assert reward(task, "/") == 0
    assert reward(task, f"{check.page}/further") == 0


def test_two_families_share_no_website():
    shown, trained, tested = (set(families.hosts(0, family, 40)) for family in ("demonstrations", "train", "test"))
    assert len(shown) == len(trained) == len(tested) == 40 * len(KINDS)
    assert len(shown | trained | tested) == 3 * len(shown)


def test_a_family_has_as_many_pages_of_each_website_as_are_asked_for_and_none_twice():
    made = list(families.opening(0, "test", 2, ["news", "travel"], each=3, port=8090))
    assert len({task.id for task in made}) == len(made) == 12
    assert len({(task.website, task.groups) for task in made}) == 12
    assert {task.split for task in made} == {"test"}
    (host,) = families.hosts(0, "train", 1, ["courses"])
    pages = navigating.destinations(site_of(0, host))
    assert len(list(families.opening(0, "train", 1, ["courses"], each=99, port=8090))) == len(pages)


def test_an_unknown_kind_of_site_is_named():
    with pytest.raises(ConfigError, match="'casino'"):
        list(families.hosts(0, "test", 1, ["casino"]))


def test_the_full_set_knows_nothing_of_them():
    assert all(navigating.NAVIGATE not in kind.generators for kind in KINDS.values())
