"""What is made smaller: the loss of each token of a reply, given how likely the model finds it now.

filtered_bc   cloning: every token as likely as can be. Replay has let only successes through, so advantages are 1.
reinforce     each token more or less likely by its episode's advantage over its group
grpo          the same, relative to how likely the token was in the rollout, and with no gain from going further than the
              clip allows: a batch can then be used for several updates

An update's loss is the mean over its tokens. Advantages come with the samples: replay made them, and there is no way here to
make one for an episode without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from webgym.errors import ConfigError
from webgym.store.samples import Objective
from webgym.train.batches import Batch
from webgym.train.encoding import Encoded
from webgym.train.job import TrainSettings

Loss = Callable[[torch.Tensor, Batch], torch.Tensor]
"""From the logprobs of the learned tokens, in a row, and their batch to the loss of each."""


def token_logprobs(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """How likely the model finds each learned token: logits of the position before it, in float32."""
    return -cross_entropy(logits[:, :-1][batch.learned].float(), batch.targets[batch.learned], reduction="none")


def loss_of(settings: TrainSettings) -> Loss:
    """The loss of a job's objective."""
    match settings.objective:
        case "filtered_bc":
            return lambda logprobs, batch: -logprobs
        case "reinforce":
            return lambda logprobs, batch: -_per_token(batch) * logprobs
        case "grpo":
            return lambda logprobs, batch: _clipped(logprobs, batch, settings.clip_low, settings.clip_high)


def _clipped(logprobs: torch.Tensor, batch: Batch, low: float, high: float) -> torch.Tensor:
    before = batch.logprobs[batch.learned]
    known = ~before.isnan()  # an end of turn that the server did not count has no ratio, and takes no part
    ratio = (logprobs - torch.where(known, before, logprobs.detach())).exp()
    advantage = _per_token(batch)
    gain = torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)
    return torch.where(known, -gain, 0.0)


def _per_token(batch: Batch) -> torch.Tensor:
    return batch.advantages[:, None].expand_as(batch.learned)[batch.learned]


def check(row: Encoded, objective: Objective) -> None:
    """Refuse what an objective must not see: samples made for another one."""
    if objective == "filtered_bc" and row.advantage != 1.0:
        raise ConfigError(
            f"objective: 'filtered_bc' clones whatever it is given, and a sample of task {row.task!r} has advantage "
            f"{row.advantage:g}: replay it for this objective"
        )
    if objective == "reinforce" and abs(row.advantage) >= 1.0:  # a reward less the mean of a group that has both is below 1
        raise ConfigError(
            f"objective: 'reinforce' compares with a group's mean, and a sample of task {row.task!r} has advantage "
            f"{row.advantage:g}: replay it for this objective"
        )
    if objective == "grpo" and row.logprobs is None:
        raise ConfigError(f"objective: 'grpo' needs the rollout's logprobs, and a sample of task {row.task!r} has none")
