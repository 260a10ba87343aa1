"""One token a row, drawn as each row wants it.

Temperature first, then top-k, then top-p of what is left; at least one token is. Temperature 0 takes the most likely one.
The log-probability that is told is the model's own, before any of the three: the one a trainer reckons again.
A row's chance is a number of its own, so what it draws does not depend on who shares the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

GREEDY: Final = 1e-5  # temperatures below are 0


@dataclass(frozen=True)
class Sampling:
    """How one reply is drawn. `top_k` 0 is no limit."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature < GREEDY


@dataclass(frozen=True)
class Drawn:
    """A token and its log-probability; `token` is None if the model's numbers are not numbers."""

    token: int | None
    logprob: float


def draw(logits: torch.Tensor, wishes: Sequence[Sampling], chances: Sequence[float]) -> list[Drawn]:
    """`logits`: a row each; `chances`: a number in [0, 1) each."""
    logits = logits.float()
    sound = torch.isfinite(logits).all(-1)
    logits = torch.where(sound[:, None], logits, 0.0)
    tokens = logits.argmax(-1)
    if hot := [n for n, wish in enumerate(wishes) if not wish.greedy]:
        tokens[hot] = _sample(logits[hot], [wishes[n] for n in hot], torch.tensor([chances[n] for n in hot]))
    told = logits.log_softmax(-1).gather(-1, tokens[:, None])[:, 0]
    return [
        Drawn(token if fine else None, logprob)
        for token, logprob, fine in zip(tokens.tolist(), told.tolist(), sound.tolist(), strict=True)
    ]


def _sample(logits: torch.Tensor, wishes: Sequence[Sampling], chances: torch.Tensor) -> torch.Tensor:
    size = logits.shape[-1]
    limits = [min(wish.top_k or size, size) for wish in wishes]
    heat = torch.tensor([wish.temperature for wish in wishes])
    best, order = (logits / heat[:, None]).topk(max(limits), dim=-1)  # sorted, the likeliest first
    beyond = torch.arange(best.shape[-1]) >= torch.tensor(limits)[:, None]
    shares = best.masked_fill(beyond, float("-inf")).softmax(-1)
    before = shares.cumsum(-1) - shares
    top_p = torch.tensor([wish.top_p for wish in wishes])
    shares = shares.masked_fill((before >= top_p[:, None]) & (before > 0), 0.0)
    reached = shares.cumsum(-1)
    picked = (reached <= (chances * reached[:, -1])[:, None]).sum(-1)
    last = (shares > 0).sum(-1) - 1  # rounding must not lead past what is allowed
    return order.gather(-1, torch.minimum(picked, last)[:, None])[:, 0]
