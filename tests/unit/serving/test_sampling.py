"""Drawing tokens: each row as it wishes, whatever the others wish."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from webgym.train.serving.sampling import Sampling, draw

SHARES = torch.tensor([0.5, 0.25, 0.15, 0.1])
LOGITS = SHARES.log()[None]
EVENLY = [(n + 0.5) / 1000 for n in range(1000)]  # every part of [0, 1) as often as its width


def shares_of(wish: Sampling) -> dict[int, float]:
    counts = Counter(draw(LOGITS, [wish], [chance])[0].token for chance in EVENLY)
    return {token: count / 1000 for token, count in counts.items() if token is not None}


def test_tokens_are_drawn_as_often_as_they_are_likely():
    assert shares_of(Sampling()) == pytest.approx({0: 0.5, 1: 0.25, 2: 0.15, 3: 0.1}, abs=0.002)


def test_top_k_leaves_the_likeliest():
    assert shares_of(Sampling(top_k=2)) == pytest.approx({0: 2 / 3, 1: 1 / 3}, abs=0.002)


def test_top_p_leaves_the_smallest_set_that_reaches_it():
    assert shares_of(Sampling(top_p=0.7)) == pytest.approx({0: 2 / 3, 1: 1 / 3}, abs=0.002)
    assert shares_of(Sampling(top_p=0.01)) == {0: 1.0}


def test_top_p_counts_what_top_k_left():
    assert shares_of(Sampling(top_k=2, top_p=0.6)) == {0: 1.0}  # 0.5 of 0.75 is more than 0.6


def test_temperature_sharpens_and_flattens():
    cold, warm = shares_of(Sampling(temperature=0.5)), shares_of(Sampling(temperature=2.0))
    assert cold[0] == pytest.approx(0.25 / (0.25 + 0.0625 + 0.0225 + 0.01), abs=0.002)
    assert warm[0] < 0.5


def test_temperature_0_takes_the_likeliest_and_the_others_in_the_batch_do_as_they_wish():
    drawn = draw(LOGITS.repeat(2, 1), [Sampling(temperature=0), Sampling()], [0.999, 0.999])
    assert [one.token for one in drawn] == [0, 3]


def test_the_logprob_told_is_the_models_own():
    (one,) = draw(LOGITS, [Sampling(temperature=0.1, top_k=1)], [0.5])
    assert one.logprob == pytest.approx(float(SHARES[0].log()), abs=1e-6)


def test_a_row_that_is_no_number_is_told_and_spoils_no_other():
    broken = torch.tensor([[0.0, float("nan"), 1.0, 2.0]])
    first, second = draw(torch.cat([broken, LOGITS]), [Sampling(), Sampling(temperature=0)], [0.1, 0.1])
    assert first.token is None
    assert second.token == 0


@given(
    st.lists(st.floats(-30, 30), min_size=2, max_size=12),
    st.floats(0.05, 5),
    st.floats(0.001, 1),
    st.integers(0, 12),
    st.floats(0, 1, exclude_max=True),
)
def test_what_is_drawn_is_always_allowed(logits: list[float], temperature: float, top_p: float, top_k: int, chance: float):
    wish = Sampling(temperature=temperature, top_p=top_p, top_k=top_k)
    (one,) = draw(torch.tensor([logits]), [wish], [chance])
    assert one.token is not None
    heated = torch.tensor(logits).div(temperature)  # what differs by less than that can hold is as likely
    above = heated > heated[one.token]
    assert int(above.sum()) < (top_k or len(logits))
    assert top_k or float(heated.softmax(-1)[above].sum()) <= top_p + 1e-4
