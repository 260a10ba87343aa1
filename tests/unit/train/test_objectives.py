"""What each objective makes more and less likely."""

from __future__ import annotations

import math
from array import array
from dataclasses import replace

import pytest
import torch

from webgym.errors import ConfigError
from webgym.train.batches import Batch
from webgym.train.encoding import Encoded
from webgym.train.job import TrainSettings
from webgym.train.objectives import check, loss_of


def batch_of(advantages: list[float], old: list[list[float]]) -> Batch:
    before = torch.tensor(old)
    learned = torch.ones_like(before, dtype=torch.bool)
    return Batch({}, torch.zeros_like(before, dtype=torch.long), learned, torch.tensor(advantages), before, tokens=0)


def slopes(objective: str, now: list[float], batch: Batch) -> list[float]:
    """How the loss changes with each token's logprob: negative means that the token becomes more likely."""
    logprobs = torch.tensor(now, requires_grad=True)
    loss_of(TrainSettings.model_validate({"objective": objective}))(logprobs, batch).sum().backward()
    assert logprobs.grad is not None
    return [round(one, 6) for one in logprobs.grad.tolist()]


def test_cloning_makes_every_token_more_likely_alike() -> None:
    assert slopes("filtered_bc", [-0.1, -5.0], batch_of([1.0], [[math.nan, math.nan]])) == [-1.0, -1.0]


def test_reinforce_follows_the_advantage_and_its_sign() -> None:
    batch = batch_of([0.75, -0.25], [[math.nan] * 2] * 2)
    assert slopes("reinforce", [-0.1, -5.0, -1.0, -1.0], batch) == [-0.75, -0.75, 0.25, 0.25]


def test_grpo_on_the_rollouts_own_policy_is_reinforce() -> None:
    batch = batch_of([0.5, -0.5], [[-1.0, -2.0], [-0.5, -0.25]])
    assert slopes("grpo", [-1.0, -2.0, -0.5, -0.25], batch) == [-0.5, -0.5, 0.5, 0.5]


def test_grpo_gains_nothing_beyond_its_clip_and_can_always_come_back() -> None:
    far = math.log(2.0)
    up, down = batch_of([1.0], [[-1.0, -1.0]]), batch_of([-1.0], [[-1.0, -1.0]])
    assert slopes("grpo", [-1.0 + far, -1.0 - far], up) == [0.0, -0.5]
    assert slopes("grpo", [-1.0 + far, -1.0 - far], down) == [2.0, 0.0]


def test_a_token_whose_rollout_probability_is_unknown_takes_no_part_in_ratios() -> None:
    assert slopes("grpo", [-1.0, -1.0], batch_of([1.0], [[-1.0, math.nan]])) == [-1.0, 0.0]


def test_samples_made_for_another_objective_are_refused() -> None:
    row = Encoded(ids=array("i", [1, 2]), reply=1, images=(), task="t", advantage=-0.5)
    with pytest.raises(ConfigError, match=r"filtered_bc.*advantage -0\.5"):
        check(row, "filtered_bc")
    with pytest.raises(ConfigError, match="logprobs"):
        check(row, "grpo")
    check(row, "reinforce")
    with pytest.raises(ConfigError, match=r"reinforce.*advantage 1:"):
        check(replace(row, advantage=1.0), "reinforce")
