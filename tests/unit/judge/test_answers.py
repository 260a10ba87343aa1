"""Answers that say nothing cannot pass, and answers that say something are looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.judge.judged import make_task
from webgym.judge.answers import OPENERS, says_nothing

TASK = make_task(instruction="Find the price of the blue lamp.")


@pytest.mark.parametrize(
    "answer",
    [
        None, "", " \n\t", "\u200b", ":", ".", "—", "Thought process:", "Solution", "Let's solve this problem step by step.",
        "yes", "Yes.", "YES!!!", "no", "Answer:", "The answer is: ", "Sure! Here is the answer:", "Final answer: yes",
        "解", "かいせつ", "Respuesta", "Find the price of the blue lamp.", "find the price of the BLUE lamp", "***",
    ],
)  # fmt: skip
def test_a_master_key_opens_nothing(answer: str | None):
    assert says_nothing(answer, TASK) is not None


@pytest.mark.parametrize(
    "answer",
    ["42", "12 €", "The answer is 12 euros.", "Yes, it is in stock.", "No such lamp was found.", "Solution 7 Ltd.",
     "Sure Step", "蓝色的灯十二欧元", "I added it to the cart."],
)  # fmt: skip
def test_what_says_something_is_left_to_the_judge(answer: str):
    assert says_nothing(answer, TASK) is None


def test_yes_is_an_answer_where_the_reference_says_yes():
    asked = make_task(reference="Yes")
    assert says_nothing("yes.", asked) is None
    assert says_nothing("no", asked) is not None


@given(st.lists(st.sampled_from(OPENERS), max_size=8), st.text("\t\n .,:;!?*#-_—'\"()[]{}", max_size=20))
def test_no_pile_of_openers_and_points_says_anything(openers: list[str], points: str):
    assert says_nothing(f" {points} ".join(openers), TASK) is not None


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(answer: str):
    says_nothing(answer, TASK)
