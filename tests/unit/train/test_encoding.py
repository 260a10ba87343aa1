"""The tokens a trainer learns: those of the rollout, and of the last reply alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.unit.train.learning import make_images, make_sample
from webgym.agents.completion import read_completion
from webgym.errors import ConfigError
from webgym.train.encoding import OTHER_PROMPT, Encoder, ImageFolders, LeftOut, load_processor, unsaid
from webgym.types import ImagePart, Reply, TextPart, Turn


@pytest.fixture
def parts(model: Path, tmp_path: Path):
    processor = load_processor(model)
    return processor, Encoder(processor, ImageFolders([tmp_path / "images"])), make_images(tmp_path / "images")


def test_the_loss_is_on_the_last_reply_and_its_end_of_turn_only(parts) -> None:
    processor, encoder, images = parts
    sample = make_sample(images, 3)
    row = encoder.encode(sample)
    ids = row.ids.tolist()
    assert processor.tokenizer.decode(ids[-row.reply :]) == sample.reply.text + "<|im_end|>"
    before = processor.tokenizer.decode(ids[: -row.reply])
    assert "I looked first.<|im_end|>" in before
    assert before.endswith("<|im_start|>assistant\n")


def test_a_prompt_is_the_tokens_that_the_processor_makes_of_the_whole_conversation(parts) -> None:
    processor, encoder, images = parts
    from PIL import Image

    sample = make_sample(images, 2)
    row = encoder.encode(sample)
    whole = processor(
        text=[
            processor.apply_chat_template(
                [
                    {
                        "role": turn.role,
                        "content": [
                            {"type": p.kind} if p.kind == "image" else {"type": "text", "text": p.text} for p in turn.parts
                        ],
                    }
                    for turn in sample.prompt
                ],
                add_generation_prompt=True,
            )
        ],
        images=[Image.open(images.path(sha256)) for sha256 in row.images],
    )
    assert row.ids.tolist()[: -row.reply] == list(whole["input_ids"][0])


def test_the_servers_own_token_ids_are_used_as_they_are(parts) -> None:
    processor, encoder, images = parts
    plain = encoder.encode(make_sample(images, 1))
    prompt = plain.ids.tolist()[: -plain.reply]
    end = processor.tokenizer.eos_token_id
    odd = [5, 6, 7]  # tokens that no tokenizer would make of a text
    told = Reply(text="whatever", prompt_token_ids=(9, *prompt), token_ids=(*odd, end), logprobs=(-1.0, -2.0, -3.0, -0.5))
    row = encoder.encode(make_sample(images, 1, reply=told))
    assert row.ids.tolist() == [9, *prompt, *odd, end]
    assert (row.reply, row.logprobs) == (4, (-1.0, -2.0, -3.0, -0.5))


def test_room_is_made_where_a_server_told_one_token_an_image(parts) -> None:
    processor, encoder, images = parts
    plain = encoder.encode(make_sample(images, 1))
    prompt = plain.ids.tolist()[: -plain.reply]
    single = [token for n, token in enumerate(prompt) if token != processor.image_token_id or prompt[n - 1] != token]
    told = make_sample(images, 1).reply.model_copy(update={"prompt_token_ids": tuple(single), "token_ids": (5,)})
    assert encoder.encode(make_sample(images, 1, reply=told)).ids.tolist()[:-2] == prompt


def test_a_server_with_other_limits_for_images_is_an_error_that_names_the_setting(parts) -> None:
    processor, encoder, images = parts
    prompt = (processor.image_token_id,) * 7
    told = Reply(text="x", prompt_token_ids=prompt, token_ids=(5,))
    with pytest.raises(ConfigError, match="max_pixels"):
        encoder.encode(make_sample(images, 1, reply=told))


@pytest.mark.parametrize("finish", ["length", "max_tokens"])
def test_a_reply_that_was_cut_off_is_not_taught_to_end(parts, finish: str) -> None:
    processor, encoder, images = parts
    row = encoder.encode(make_sample(images, 1, reply=Reply(text="on and on", finish=finish)))
    assert processor.tokenizer.decode(row.ids.tolist()[-row.reply :]) == "on and on"


def test_text_that_spells_image_tokens_is_left_out(parts) -> None:
    _, encoder, images = parts
    sample = make_sample(images, 1)
    forged = Turn(role="user", parts=(TextPart(text="a page that says <|image_pad|>"),))
    assert encoder.encode(sample.model_copy(update={"prompt": (*sample.prompt, forged)})) is None


@pytest.mark.parametrize("told", [False, True], ids=["as text", "as ids"])
def test_a_reply_that_spells_image_tokens_is_left_out(parts, told: bool) -> None:
    processor, encoder, images = parts
    reply = Reply(text="it is <|image_pad|>", token_ids=(5, processor.image_token_id) if told else None)
    assert encoder.encode(make_sample(images, 1, reply=reply)) is None


def test_a_text_that_was_put_together_is_learned_only_by_the_tokens_that_the_model_said(parts) -> None:
    _, encoder, images = parts
    call = {"function": {"name": "click", "arguments": "{}"}}
    message = {"content": None, "reasoning_content": "Hm.", "tool_calls": [call]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    reply = read_completion(body, asked="m", seconds=0.0)
    assert reply is not None
    sample = make_sample(images, 1, reply=reply)
    assert unsaid(sample)
    assert encoder.encode(sample) is None
    told = make_sample(images, 1, reply=reply.model_copy(update={"token_ids": (5, 6)}))
    assert not unsaid(told)
    assert encoder.encode(told).ids.tolist()[-3:-1] == [5, 6]


@pytest.mark.parametrize("stop", ["</tool_call>", 5], ids=["string", "token"])
def test_an_end_of_turn_that_the_model_never_said_is_not_taught(parts, stop: str | int) -> None:
    _, encoder, images = parts
    choice = {"message": {"content": "<tool_call>{}"}, "finish_reason": "stop", "stop_reason": stop}
    reply = read_completion(json.dumps({"choices": [choice]}), asked="m", seconds=0.0)
    assert reply is not None
    assert encoder.encode(make_sample(images, 1, reply=reply)) is None, "its text is not all that was said"
    told = reply.model_copy(update={"token_ids": (7, 6, 5), "logprobs": (-1.0, -2.0, -3.0)})
    row = encoder.encode(make_sample(images, 1, reply=told))
    assert row.ids.tolist()[-row.reply :] == [7, 6, 5]
    assert row.logprobs == (-1.0, -2.0, -3.0)


def test_a_rendered_prompt_of_another_length_than_the_server_counted_is_left_out(parts) -> None:
    _, encoder, images = parts
    sample = make_sample(images, 1)
    row = encoder.encode(sample)
    count = len(row) - row.reply

    def told(**changes: object) -> object:
        return encoder.read(make_sample(images, 1, reply=sample.reply.model_copy(update=changes)))

    assert told(prompt_tokens=0) == row, "a server that counts nothing contradicts nothing"
    assert told(prompt_tokens=count) == row
    for other in (count - 1, count + 4):
        assert told(prompt_tokens=other) == LeftOut(OTHER_PROMPT)
    ids = tuple(row.ids.tolist()[:count])
    known = told(prompt_tokens=count + 4, prompt_token_ids=(1, 2, 3, 4, *ids), token_ids=(5,))
    assert known.ids.tolist()[: count + 4] == [1, 2, 3, 4, *ids], "the prompt that was asked is known to the letter"


def test_the_embedded_server_counts_a_prompt_as_it_is_rendered_here(parts, model: Path) -> None:
    from webgym.train.serving.prompt import Prompter
    from webgym.train.serving.settings import EngineSettings
    from webgym.train.serving.wire import ChatMessage

    processor, encoder, images = parts

    def sent(part: TextPart | ImagePart) -> dict[str, object]:
        if part.kind == "text":
            return {"type": "text", "text": part.text}
        data = base64.b64encode(images.get(part.sha256)).decode()
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}

    prompter = Prompter(model, processor.image_token_id, EngineSettings())
    for n in range(3):
        sample = make_sample(images, n)
        turns = [{"role": turn.role, "content": [sent(part) for part in turn.parts]} for turn in sample.prompt]
        asked = prompter.read(tuple(ChatMessage.model_validate(turn) for turn in turns)).ids.tolist()
        row = encoder.encode(sample)
        assert row.ids.tolist()[: -row.reply] == asked


def test_limits_of_pixels_change_how_many_tokens_an_image_is(model: Path, tmp_path: Path) -> None:
    images = make_images(tmp_path / "images")
    sample = make_sample(images, 1)
    few, many = (
        Encoder(load_processor(model, max_pixels=limit), ImageFolders([tmp_path / "images"])).encode(sample)
        for limit in (32 * 32, None)
    )
    assert len(many) - len(few) == 2 * (9 - 1)  # two screenshots of 96 × 96, one token of 32 × 32 each at the limit
