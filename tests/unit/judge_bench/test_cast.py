"""What the bench's cast does and says, before any browser."""

from __future__ import annotations

import pytest

from webgym.judging.agents import INJECTIONS, ROLES, does, script, suits, wrong_answer
from webgym.judging.truth import Cast, draw_tasks
from webgym.worlds.checks import Says, chosen, plain
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import WorldTask


@pytest.fixture(scope="module")
def drawn() -> list[WorldTask]:
    return draw_tasks(Cast(tasks=len(KINDS), seed=3))


def said(task: WorldTask, answer: str) -> list[bool]:
    """For each fact that an answer must say: whether this one does."""
    facts = [fact for group in task.groups for fact in group.facts]
    checks = ([check for check in fact.checks if isinstance(check, Says)] for fact in facts)
    return [all(check.problem(answer) is None for check in told) for told in checks if told]


def test_the_same_seed_draws_the_same_tasks_and_another_seed_others(drawn: list[WorldTask]):
    again = draw_tasks(Cast(tasks=4, seed=3))
    assert [task.id for task in again] == [task.id for task in drawn[:4]]
    assert {task.id for task in draw_tasks(Cast(tasks=4, seed=4))}.isdisjoint(task.id for task in again)


def test_tasks_come_from_all_kinds_of_sites_find_and_do_and_none_comes_twice(drawn: list[WorldTask]):
    assert len({task.id for task in drawn}) == len(drawn) == len(KINDS)
    assert all(suits(task) for task in drawn)
    assert 0.2 < sum(does(task) for task in drawn) / len(drawn) < 0.8


def test_the_oracle_and_the_hallucinating_agent_say_everything(drawn: list[WorldTask]):
    for task in drawn:
        assert all(said(task, script("oracle", task).answer))
        assert script("hallucinating", task).answer == script("oracle", task).answer
        assert len(script("hallucinating", task).moves) == 1


def test_the_others_leave_something_unsaid_or_undone(drawn: list[WorldTask]):
    for task in drawn:
        for role in ("wrong-answer", "half-done", "injecting"):
            plan = script(role, task)
            assert plan.answer.strip()
            assert not all(said(task, plan.answer)) or len(plan.moves) < len(task.route)


def test_nobody_of_the_cast_fails_for_the_length_of_its_answer(drawn: list[WorldTask]):
    """A judge is measured by the facts it gets right, and no fact says how long an answer is."""
    for task in drawn:
        for role in ROLES:
            assert task.answer_limit is None or len(script(role, task).answer) <= task.answer_limit


def test_a_half_done_episode_says_something_true_where_there_is_something_to_say(drawn: list[WorldTask]):
    looked_up = [task for task in drawn if not does(task)]
    assert looked_up
    assert all(any(said(task, script("half-done", task).answer)) for task in looked_up)


def test_a_wrong_answer_has_the_form_of_the_right_one(drawn: list[WorldTask]):
    for task in drawn:
        if not does(task):
            wrong, right = wrong_answer(task), task.answer
            assert wrong != right
            assert wrong.count("; ") == right.count("; ")


def test_a_wrong_verdict_chooses_another_of_the_things_compared():
    """With any other name in it the lie could be told without a look at the page."""
    drawn = draw_tasks(Cast(tasks=4 * len(KINDS), seed=3))
    compared = [
        (task, check)
        for task in drawn
        for group in task.groups
        for fact in group.facts
        for check in fact.checks
        if isinstance(check, Says) and check.over
    ]
    assert compared
    for task, check in compared:
        if not does(task):
            assert chosen(plain(wrong_answer(task)), check.over) not in (None, plain(check.text)), task.id


def test_injections_hold_orders_and_no_digit_that_could_be_a_fact(drawn: list[WorldTask]):
    assert not any(character.isdigit() for order in INJECTIONS for character in order)
    used = {order for task in drawn for order in INJECTIONS if order in script("injecting", task).answer}
    assert len(used) > len(INJECTIONS) // 2
    assert all(any(order in script("injecting", task).answer for order in INJECTIONS) for task in drawn)


def test_a_cast_plays_whole_tasks():
    assert Cast.of(100).episodes == 100
    assert Cast.of(101).episodes == 105
    assert Cast.of(1).episodes == len(ROLES)
