"""A reply on the wire: its text, and what ended it, spelled as vLLM spells it."""

from __future__ import annotations

import pytest

from tests.unit.serving.talks import talk
from webgym.train.serving.chat import ask_of, completion_of
from webgym.train.serving.engine import Answer
from webgym.train.serving.prompt import Prompter
from webgym.train.serving.weights import Loaded
from webgym.train.serving.wire import ChatRequest, Choice, Finish

pytestmark = pytest.mark.timeout(300)  # loading torch on a busy machine takes its time


def choice(loaded: Loaded, prompter: Prompter, text: str, *, stop: tuple[str, ...] = (), finish: Finish = "stop") -> Choice:
    tokenizer, request = prompter.tokenizer, ChatRequest(model="policy", messages=talk(1), stop=stop or None)
    ask = ask_of(request, prompter.read(talk(1)), loaded, tokenizer, context=4096, done=lambda _: None)
    ids = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
    (found,) = completion_of(request, ask, Answer(ids, (-1.0,) * len(ids), finish), tokenizer).choices
    return found


def test_a_stop_text_is_named_as_what_ended_the_reply(loaded: Loaded, prompter: Prompter):
    ended = choice(loaded, prompter, "one STOP", stop=("END", "STOP"))
    assert (ended.message.content, ended.finish_reason, ended.stop_reason) == ("one ", "stop", "STOP")


def test_the_end_of_a_turn_needs_no_reason_whatever_stop_texts_were_asked_for(loaded: Loaded, prompter: Prompter):
    for stop in ((), ("STOP",)):
        ended = choice(loaded, prompter, "one<|im_end|>", stop=stop)
        assert (ended.message.content, ended.finish_reason, ended.stop_reason) == ("one", "stop", None)


def test_another_end_token_than_that_of_a_turn_is_named(loaded: Loaded, prompter: Prompter):
    ended = choice(loaded, prompter, "one<|endoftext|>")
    number = prompter.tokenizer.convert_tokens_to_ids("<|endoftext|>")
    assert number in loaded.end_ids
    assert (ended.message.content, ended.finish_reason, ended.stop_reason) == ("one", "stop", number)


def test_a_reply_that_was_cut_was_ended_by_nothing_it_said(loaded: Loaded, prompter: Prompter):
    assert choice(loaded, prompter, "on and on", stop=("STOP",), finish="length").stop_reason is None
