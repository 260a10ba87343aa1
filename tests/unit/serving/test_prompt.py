"""From messages to tokens: what the checkpoint's own processor would give, and refusals that say what is wrong."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from tests.unit.serving.talks import picture, said, talk
from webgym.errors import BadRequest
from webgym.train.serving.prompt import Prompter
from webgym.train.serving.weights import Loaded
from webgym.train.serving.wire import ChatMessage

pytestmark = pytest.mark.timeout(300)  # loading torch on a busy machine takes its time


def theirs(loaded: Loaded, messages: tuple[ChatMessage, ...]) -> dict[str, Any]:
    from transformers import AutoProcessor

    processor = AutoProcessor.from_pretrained(loaded.folder)
    laid, shown = [], []
    for message in messages:
        parts = []
        for part in message.parts:
            if part.image_url is not None:
                shown.append(Image.open(io.BytesIO(part.image_url.decoded("here"))).convert("RGB"))
                parts.append({"type": "image"})
            else:
                parts.append({"type": "text", "text": part.text})
        laid.append({"role": message.role, "content": parts})
    text = processor.apply_chat_template(laid, tokenize=False, add_generation_prompt=True)
    return dict(processor(text=[text], images=shown, return_tensors="pt"))


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_ids_pictures_and_positions_are_those_of_transformers(loaded: Loaded, prompter: Prompter, rounds: int):
    messages = talk(1, rounds)
    own, other = prompter.read(messages), theirs(loaded, messages)
    assert own.ids.tolist() == other["input_ids"][0].tolist()
    assert [list(one.patches) for one in own.pictures] == other["image_grid_thw"].tolist()
    positions, delta = loaded.model.model.get_rope_index(
        other["input_ids"], other["mm_token_type_ids"], image_grid_thw=other["image_grid_thw"]
    )
    assert own.positions.tolist() == positions[:, 0].tolist()
    assert own.next_position == len(own.ids) + int(delta[0, 0])


def test_pictures_of_other_shapes_take_their_own_number_of_tokens(loaded: Loaded, prompter: Prompter):
    messages = (said("user", picture(1, (64, 160)), "and", picture(2, (160, 64)), "?"),)
    own, other = prompter.read(messages), theirs(loaded, messages)
    assert own.ids.tolist() == other["input_ids"][0].tolist()
    assert [one.tokens for one in own.pictures] == [10, 10]


def test_prompts_with_other_pictures_are_told_apart_where_the_picture_begins(prompter: Prompter):
    one, other = prompter.read((said("user", "Look", picture(1)),)), prompter.read((said("user", "Look", picture(2)),))
    assert one.ids.tolist() == other.ids.tolist()
    differs = (one.identity != other.identity).nonzero()[0]
    assert differs[0] == one.starts[0]
    assert len(differs) == one.pictures[0].tokens


def test_a_picture_is_read_once(prompter: Prompter):
    first, again = (prompter.read((said("user", text, picture(7)),)) for text in ("one", "two"))
    assert first.pictures[0] is again.pictures[0]


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ((said("user", "a <|image_pad|> of mine"),), "placeholder"),
        ((said("user", *[picture(n) for n in range(5)]),), "5 images"),
        ((said("user", b"no picture"),), "messages.0.content.0.image_url"),
        ((said("user", "text", picture(1)[:60]),), "messages.0.content.1.image_url"),
        ((said("user", picture(1, (1024, 1024))),), "1024 × 1024"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(prompter: Prompter, messages: tuple[ChatMessage, ...], named: str):
    with pytest.raises(BadRequest, match=named):
        prompter.read(messages)


def test_nothing_is_fetched(prompter: Prompter):
    part = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/picture.png"}}
    with pytest.raises(BadRequest, match="fetches nothing"):
        prompter.read((ChatMessage.model_validate({"role": "user", "content": [part]}),))
