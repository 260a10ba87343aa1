"""From messages to tokens, positions and pictures.

The text is laid out by the checkpoint's own chat template and tokenised once; each image placeholder then becomes as many
image tokens as its picture needs. That gives the ids that the checkpoint's processor gives, without touching pixels that
were read before. Positions are Qwen3-VL's: text counts on in all three directions, a picture spreads over rows and columns.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from webgym.errors import BadRequest
from webgym.train.serving.caches import ByteCache
from webgym.train.serving.settings import EngineSettings
from webgym.train.serving.wire import ChatMessage, ImageUrl


@dataclass(frozen=True)
class Picture:
    """An image as the vision part takes it. `rows` and `columns` count its tokens, `patches` is (time, height, width)."""

    name: str
    pixels: torch.Tensor
    patches: tuple[int, int, int]
    rows: int
    columns: int

    @property
    def tokens(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True)
class Prompt:
    ids: NDArray[np.int64]
    identity: NDArray[np.int64]  # the ids, with every image token replaced by its picture's own number
    positions: NDArray[np.int64]  # (3, tokens)
    next_position: int
    pictures: tuple[Picture, ...]
    starts: tuple[int, ...]  # where each picture's tokens begin


class Prompter:
    """The words of a checkpoint: template, tokenizer, image processor. Any thread may use it."""

    def __init__(self, folder: Path, image_token: int, settings: EngineSettings) -> None:
        from transformers import AutoProcessor

        self._processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        self.tokenizer = self._processor.tokenizer
        self._image_token, self._settings = image_token, settings
        self._merge = int(self._processor.image_processor.merge_size)
        self._pictures: ByteCache[Picture] = ByteCache(settings.image_mib << 20)

    def read(self, messages: tuple[ChatMessage, ...]) -> Prompt:
        """Raises BadRequest, which names the message, for what cannot be shown to the model."""
        images = [
            (f"messages.{n}.content.{m}.image_url", part.image_url)
            for n, message in enumerate(messages)
            for m, part in enumerate(message.parts)
            if part.image_url is not None
        ]
        if len(images) > self._settings.images:
            raise BadRequest(f"messages: {len(images)} images, and this server takes {self._settings.images} in a prompt")
        pictures = tuple(self._picture(where, image) for where, image in images)
        try:
            text = self._processor.apply_chat_template(
                [_laid_out(message) for message in messages], tokenize=False, add_generation_prompt=True
            )
        except Exception as e:
            raise BadRequest(f"messages: the chat template refuses them: {e}") from e
        raw = np.asarray(self.tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)
        return self._expand(raw, pictures)

    def _expand(self, raw: NDArray[np.int64], pictures: tuple[Picture, ...]) -> Prompt:
        places = np.flatnonzero(raw == self._image_token)
        if len(places) != len(pictures):
            raise BadRequest(f"messages: {len(places)} image placeholders for {len(pictures)} images; is one in the text?")
        counts = np.ones(len(raw), dtype=np.int64)
        counts[places] = [picture.tokens for picture in pictures]
        ids = np.repeat(raw, counts)
        ends = np.cumsum(counts)
        starts = tuple(int(ends[place] - counts[place]) for place in places)
        identity = ids.copy()
        for start, picture in zip(starts, pictures, strict=True):
            identity[start : start + picture.tokens] = _number(picture.name)
        positions, after = _positions(len(ids), starts, pictures)
        return Prompt(ids, identity, positions, after, pictures, starts)

    def _picture(self, where: str, image: ImageUrl) -> Picture:
        data = image.decoded(where)
        name = hashlib.sha256(data).hexdigest()
        if (known := self._pictures.get(name)) is not None:
            return known
        read = self._processor.image_processor(images=[self._open(where, data)], return_tensors="pt")
        time, height, width = (int(size) for size in read["image_grid_thw"][0])
        picture = Picture(
            name, read["pixel_values"], (time, height, width), time * height // self._merge, width // self._merge
        )
        self._pictures.put(name, picture, picture.pixels.nbytes)
        return picture

    def _open(self, where: str, data: bytes) -> Any:
        from PIL import Image

        try:
            with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as found:
                if found.width * found.height > self._settings.image_pixels:
                    raise BadRequest(f"{where}: {found.width} × {found.height} pixels are more than this server takes")
                return found.convert("RGB")
        except BadRequest:
            raise
        except Exception as e:
            raise BadRequest(f"{where}: the image cannot be read: {type(e).__name__}: {e}") from e


def _laid_out(message: ChatMessage) -> dict[str, Any]:
    if isinstance(message.content, str):
        return {"role": message.role, "content": message.content}
    parts = [
        {"type": "image"} if part.image_url is not None else {"type": "text", "text": part.text} for part in message.parts
    ]
    return {"role": message.role, "content": parts}


def _number(name: str) -> int:
    """A picture's own number, which no token id is: negative."""
    return -1 - int(name[:15], 16)


def _positions(count: int, starts: tuple[int, ...], pictures: tuple[Picture, ...]) -> tuple[NDArray[np.int64], int]:
    positions = np.empty((3, count), dtype=np.int64)
    done = after = 0
    for start, picture in zip(starts, pictures, strict=True):
        positions[:, done:start] = np.arange(after, after + start - done)
        after += start - done
        place = np.indices((picture.rows, picture.columns)).reshape(2, -1)
        done = start + picture.tokens
        positions[0, start:done] = after
        positions[1:, start:done] = place + after
        after += max(picture.rows, picture.columns)
    positions[:, done:] = np.arange(after, after + count - done)
    return positions, after + count - done
