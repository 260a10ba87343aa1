"""A model at work: one pass over a step's tokens, and what is remembered between passes.

Invariant: what a row's tokens see is that row alone, so a reply does not depend on who shares the batch (but for rounding).
A `Runner` belongs to one set of weights; new weights get a new one, and with it empty memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from webgym.train.serving.caches import ByteCache, Prefixes, shared
from webgym.train.serving.prompt import Picture, Prompt
from webgym.train.serving.settings import EngineSettings
from webgym.train.serving.slots import Packing, Stretch
from webgym.train.serving.weights import Loaded


@dataclass(frozen=True)
class Continued:
    """A row's newest token, not yet seen by the model; `length` tokens were before it."""

    token: int
    length: int
    position: int


@dataclass(frozen=True)
class Fresh:
    """A prompt whose first `start` tokens are in its row already."""

    prompt: Prompt
    row: int
    start: int

    @property
    def count(self) -> int:
        return len(self.prompt.ids) - self.start


@dataclass(frozen=True)
class Known:
    """The first `count` tokens of a prompt are in another row, or kept, or nowhere if there are none."""

    count: int
    row: int | None = None
    kept: torch.Tensor | None = None


@dataclass(frozen=True)
class _Seen:
    """What the vision part made of pictures, for a stretch of packed tokens."""

    places: torch.Tensor  # which tokens are image tokens
    features: torch.Tensor  # (1 + deepstack levels, image tokens, width)


class Runner:
    def __init__(self, loaded: Loaded, settings: EngineSettings) -> None:
        self._model = loaded.model
        self._text = loaded.model.model.language_model
        self.slots = loaded.new_slots()
        self._prefixes = Prefixes(settings.prefix_mib << 20)
        self._features: ByteCache[torch.Tensor] = ByteCache(settings.image_mib << 20)
        self._image_token = loaded.image_token

    def known(self, prompt: Prompt, neighbours: Sequence[NDArray[np.int64]]) -> Known:
        """What need not be reckoned of a prompt. `neighbours`: the first rows."""
        most = len(prompt.ids) - 1  # the last token must be run: its output is what is asked for
        count, kept = self._prefixes.longest(prompt.identity)
        likes = [shared(other, prompt.identity) for other in neighbours]
        if likes and max(likes) > count:
            return Known(min(max(likes), most), row=likes.index(max(likes)))
        return Known(min(count, most), kept=kept)

    def begin(self, prompt: Prompt, row: int, known: Known) -> Fresh:
        """Fill a row with what is known of a prompt."""
        self.slots.reserve(row + 1, len(prompt.ids) + 1)
        if known.row is not None:
            self.slots.move(known.row, row, known.count)
        elif known.kept is not None:
            self.slots.paste(row, known.kept, known.count)
        return Fresh(prompt, row, known.count)

    def step(self, continued: Sequence[Continued], fresh: Sequence[Fresh]) -> torch.Tensor:
        """The logits after each row's last token, rows in order."""
        lengths = [one.length for one in continued]
        ends = [length + 1 for length in lengths] + [len(one.prompt.ids) for one in fresh]
        self.slots.reserve(len(continued) + len(fresh), max(ends))
        ids = np.concatenate([np.array([one.token for one in continued], dtype=np.int64), *(_rest(one) for one in fresh)])
        places = np.array([one.position for one in continued], dtype=np.int64)
        positions = np.concatenate(
            [np.broadcast_to(places, (3, len(places))), *(one.prompt.positions[:, one.start :] for one in fresh)], axis=1
        )
        hidden, seen = self._model.get_input_embeddings()(torch.from_numpy(ids)), self._see(ids, len(continued), fresh)
        if seen is not None:
            hidden[seen.places] = seen.features[0].to(hidden.dtype)
        stretches = tuple(Stretch(one.row, one.start, one.count) for one in fresh)
        out = self._text(
            inputs_embeds=hidden[None],
            position_ids=torch.from_numpy(positions)[:, None],
            use_cache=False,
            visual_pos_masks=None if seen is None else seen.places[None],
            deepstack_visual_embeds=None if seen is None else list(seen.features[1:]),
            packing=Packing.of(self.slots, lengths, stretches),
        ).last_hidden_state[0]
        last = np.cumsum([1] * len(continued) + [one.count for one in fresh]) - 1
        logits: torch.Tensor = self._model.lm_head(out[torch.from_numpy(last)])
        return logits

    def keep(self, row: int, identity: NDArray[np.int64]) -> None:
        """A sequence is over: remember its keys and values, of which there is one pair for each of these tokens."""
        self._prefixes.keep(identity, self.slots.copy(row, len(identity)))

    def _see(self, ids: NDArray[np.int64], done: int, fresh: Sequence[Fresh]) -> _Seen | None:
        places = np.zeros(len(ids), dtype=bool)
        parts = []
        for one in fresh:
            visible = one.prompt.ids[one.start :] == self._image_token
            places[done : done + one.count] = visible
            done += one.count
            ahead = [
                (picture, start)
                for picture, start in zip(one.prompt.pictures, one.prompt.starts, strict=True)
                if start + picture.tokens > one.start
            ]
            features = self._look([picture for picture, _ in ahead])
            parts += [known[:, max(0, one.start - start) :] for known, (_, start) in zip(features, ahead, strict=True)]
        if not parts:
            return None
        return _Seen(torch.from_numpy(places), torch.cat(parts, dim=1))

    def _look(self, pictures: Sequence[Picture]) -> list[torch.Tensor]:
        found = {picture.name: self._features.get(picture.name) for picture in pictures}
        new = list({picture.name: picture for picture in pictures if found[picture.name] is None}.values())
        if new:
            grid = torch.tensor([picture.patches for picture in new])
            out = self._model.model.get_image_features(torch.cat([picture.pixels for picture in new]), grid)
            for n, picture in enumerate(new):
                features = torch.stack([out.pooler_output[n], *(level[n] for level in out.deepstack_features)])
                found[picture.name] = features
                self._features.put(picture.name, features, features.nbytes)
        return [features for picture in pictures if (features := found[picture.name]) is not None]


def _rest(one: Fresh) -> NDArray[np.int64]:
    return one.prompt.ids[one.start :]
