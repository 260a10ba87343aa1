"""From a sample to the tokens a model is trained on.

Invariant: the tokens are those of the rollout. If the server told its token ids, they are used as they are; otherwise the
prompt is rendered with the checkpoint's own chat template, as the server did it, and the reply's text follows. A request may
have had the server render it otherwise, so a rendered prompt of another length than the server counted is not the one that
was asked, and nothing is taught on it. A text that a server took apart is nobody's words, and is never taught. The loss is
on the last reply alone, its end-of-turn token included unless the reply was cut off or stopped. Images are checked and
opened for their size here, and decoded only when their batch is due: one that is damaged costs the samples that show it.
"""

from __future__ import annotations

import io
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from webgym.errors import ConfigError, StoreError
from webgym.store.files import Disk
from webgym.store.images import Images
from webgym.store.samples import Sample
from webgym.train.job import UNSEEN
from webgym.types import CUT, STOPPED_BY, ImagePart, TextPart, Turn

UNSAID: Final = (
    "were taken apart by the model server (its parsers, a stop string or a stop token), and what was said is not known to "
    "the letter"
)
OTHER_PROMPT: Final = (
    "were asked in another prompt than is rendered here, by the model server's count of its tokens (model.policy.extra_body "
    "or other limits for images change it); play with model.policy.token_ids, and the native trainer can learn them"
)
SPELLS_IMAGES: Final = "spell image tokens"


@dataclass(frozen=True)
class Encoded:
    """A sample as tokens. The last `reply` of the ids are what is learned."""

    ids: array[int]
    reply: int
    images: tuple[str, ...]
    task: str
    advantage: float = 1.0
    logprobs: tuple[float, ...] | None = None  # of the rollout, one a token of the reply; NaN where it told none

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class LeftOut:
    """A sample that is not taught. The reason follows a number of samples in a sentence."""

    reason: str


class ImageFolders:
    """The image folders of several runs as one."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [Images(folder, Disk(folder)) for folder in folders]

    def path(self, sha256: str) -> Path:
        return self._holding(sha256).path(sha256)

    def read(self, sha256: str) -> bytes:
        """An image's bytes, checked against its hash."""
        return self._holding(sha256).get(sha256)

    def _holding(self, sha256: str) -> Images:
        for folder in self._folders:
            try:
                folder.path(sha256)
            except StoreError:
                continue
            return folder
        raise StoreError(f"image {sha256} is in none of the {len(self._folders)} image folders of this job")


def load_processor(model: Path, *, min_pixels: int | None = None, max_pixels: int | None = None) -> Any:
    """The checkpoint's processor, with the limits of the model server if they are not its own."""
    from webgym.train import shim

    shim.activate()
    from transformers import AutoProcessor

    try:
        processor = AutoProcessor.from_pretrained(model, local_files_only=True)
    except (OSError, ValueError) as e:  # what it says of a file that is missing
        said = str(e).strip().partition("\n")[0]
        raise ConfigError(f"model: {model} has no processor and tokenizer that can be loaded: {said}") from e
    size = dict(processor.image_processor.size)
    limits = {"shortest_edge": min_pixels or size["shortest_edge"], "longest_edge": max_pixels or size["longest_edge"]}
    processor.image_processor.size = limits
    return processor


class Encoder:
    """Encodes samples with one processor."""

    def __init__(self, processor: Any, images: ImageFolders) -> None:
        self._processor, self._tokenizer = processor, processor.tokenizer
        self._image_id: int = processor.image_token_id
        self._end: int | None = self._tokenizer.eos_token_id
        if self._end is None:
            raise ConfigError("model: its tokenizer has no end-of-turn token, so its replies would never end")
        self._image_tokens = cache(lambda sha256: _image_tokens(processor, images.read(sha256)))

    def encode(self, sample: Sample) -> Encoded | None:
        """The tokens of a sample; None if it is left out."""
        row = self.read(sample)
        return row if isinstance(row, Encoded) else None

    def read(self, sample: Sample) -> Encoded | LeftOut:
        """The tokens of a sample; left out if it is `unsaid`, if it was asked in another prompt than can be made of its
        turns, if its text spells image tokens of its own, which no model could place, or if a screenshot cannot be read."""
        if unsaid(sample):
            return LeftOut(UNSAID)
        images = tuple(part.sha256 for turn in sample.prompt for part in turn.parts if part.kind == "image")
        try:
            counts = [self._image_tokens(sha256) for sha256 in images]
        except StoreError:
            return LeftOut(UNSEEN)
        given = self._given_prompt(sample, counts)
        prompt = given if given is not None else self._rendered(sample.prompt, counts)
        if prompt is None:
            return LeftOut(SPELLS_IMAGES)
        if given is None and sample.reply.prompt_tokens not in (0, len(prompt)):  # 0: the server did not count
            return LeftOut(OTHER_PROMPT)
        reply, logprobs = self._reply(sample)
        if self._image_id in reply:
            return LeftOut(SPELLS_IMAGES)
        return Encoded(
            ids=array("i", [*prompt, *reply]),
            reply=len(reply),
            images=images,
            task=sample.task,
            advantage=sample.advantage,
            logprobs=logprobs,
        )

    def _given_prompt(self, sample: Sample, counts: list[int]) -> list[int] | None:
        """The prompt's ids as the server told them, each image as many tokens as here; None if it told none."""
        if sample.reply.prompt_token_ids is None or sample.reply.token_ids is None:
            return None
        ids = list(sample.reply.prompt_token_ids)
        found = ids.count(self._image_id)
        if found == len(counts):  # one token an image: the server told them before it made room
            return self._make_room(ids, counts)
        if found != sum(counts):
            raise ConfigError(
                f"max_pixels, min_pixels: the model server made {found} tokens of the images of a prompt, and this "
                f"processor makes {sum(counts)}; give both the same limits"
            )
        return ids

    def _rendered(self, prompt: Sequence[Turn], counts: list[int]) -> list[int] | None:
        text = self._processor.apply_chat_template(messages(prompt), tokenize=False, add_generation_prompt=True)
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._make_room(ids, counts) if ids.count(self._image_id) == len(counts) else None

    def _make_room(self, ids: Sequence[int], counts: list[int]) -> list[int]:
        rest = iter(counts)
        return [token for one in ids for token in ((one,) if one != self._image_id else (one,) * next(rest))]

    def _reply(self, sample: Sample) -> tuple[list[int], tuple[float, ...] | None]:
        reply = sample.reply
        if reply.token_ids is None:
            ids, logprobs = self._tokenizer(reply.text, add_special_tokens=False)["input_ids"], None
        else:
            ids, logprobs = list(reply.token_ids), reply.logprobs
        if reply.finish not in (*CUT, *STOPPED_BY) and (not ids or ids[-1] != self._end):
            ids = [*ids, self._end]
            logprobs = (*logprobs, math.nan) if logprobs is not None else None
        return ids, logprobs


def unsaid(sample: Sample) -> bool:
    """Whether nothing is known of what the model said but a text that the server took apart."""
    return sample.reply.rebuilt and sample.reply.token_ids is None


def messages(prompt: Sequence[Turn]) -> list[dict[str, object]]:
    """A prompt in the form chat templates read."""
    return [{"role": turn.role, "content": [_content(part) for part in turn.parts]} for turn in prompt]


def _content(part: TextPart | ImagePart) -> dict[str, str]:
    return {"type": "text", "text": part.text} if part.kind == "text" else {"type": "image"}


def _image_tokens(processor: Any, data: bytes) -> int:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as opened:  # reads the header alone
        width, height = opened.size
    patches: int = processor.image_processor.get_number_of_image_patches(height, width, {})
    return patches // int(processor.image_processor.merge_size) ** 2
