"""Continuous batching: a reply is the one that transformers would give alone, whoever else is in the batch."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.unit.serving.talks import talk
from tests.unit.serving.test_prompt import theirs
from webgym.errors import BadRequest, Overloaded, ServerError, Unavailable
from webgym.train.serving.engine import Answer, Ask, Engine
from webgym.train.serving.prompt import Prompter
from webgym.train.serving.sampling import Sampling
from webgym.train.serving.settings import EngineSettings
from webgym.train.serving.weights import Loaded, load
from webgym.train.serving.wire import ChatMessage

WITHIN = 60.0
GREEDY = Sampling(temperature=0)
LONG = 4000

pytestmark = pytest.mark.timeout(300)  # loading torch on a busy machine takes its time


@contextmanager
def running(loaded: Loaded, **changes: Any) -> Iterator[Engine]:
    with Engine(loaded, EngineSettings(**changes)) as engine:
        yield engine


def submit(engine: Engine, prompter: Prompter, messages: tuple[ChatMessage, ...], **changes: Any) -> Future[Any]:
    replied: Future[Any] = Future()
    given: dict[str, Any] = {"sampling": GREEDY, "limit": 8, "done": replied.set_result}
    engine.submit(Ask(prompter.read(messages), **(given | changes)))
    return replied


def answer(replied: Future[Any]) -> Answer:
    found = replied.result(WITHIN)
    assert isinstance(found, Answer), found
    return found


def generate(folder: Path, loaded: Loaded, messages: tuple[ChatMessage, ...], limit: int) -> tuple[list[int], list[float]]:
    """transformers' own greedy reply, with log-probabilities."""
    from transformers import AutoModelForImageTextToText

    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    inputs = theirs(loaded, messages)
    with torch.no_grad():
        out = model.generate(
            **inputs, do_sample=False, min_new_tokens=limit, max_new_tokens=limit, eos_token_id=[10**6],
            return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
    ids = out.sequences[0, inputs["input_ids"].shape[1] :].tolist()
    return ids, [out.logits[n][0].log_softmax(-1)[token].item() for n, token in enumerate(ids)]


def test_greedy_replies_are_those_of_transformers_generate(loaded: Loaded, prompter: Prompter):
    with running(loaded) as engine:
        asked = [(talk(n, 1 + n % 3), 5 + 4 * n) for n in range(6)]
        replies = [submit(engine, prompter, messages, limit=limit) for messages, limit in asked]
        for (messages, limit), replied in zip(asked, replies, strict=True):
            ids, logprobs = generate(loaded.folder, loaded, messages, limit)
            assert list(answer(replied).ids) == ids
            assert answer(replied).logprobs == pytest.approx(logprobs, abs=1e-4)


@pytest.mark.parametrize("changes", [{}, {"rows": 2}, {"prefix_mib": 0}, {"rows": 3, "kv_mib": 1}])
def test_a_batch_gives_what_each_gets_alone(loaded: Loaded, prompter: Prompter, changes: dict[str, Any]):
    asked = [(talk(n, 1 + n % 4), 3 + n) for n in range(10)]
    with running(loaded, **changes) as engine:
        together = [submit(engine, prompter, messages, limit=limit) for messages, limit in asked]
        batched = [answer(replied) for replied in together]
    for (messages, limit), told in zip(asked, batched, strict=True):
        with running(loaded) as engine:
            alone = answer(submit(engine, prompter, messages, limit=limit))
        assert told.ids == alone.ids
        assert told.logprobs == pytest.approx(alone.logprobs, abs=1e-4)


def test_what_is_remembered_changes_nothing(loaded: Loaded, prompter: Prompter):
    with running(loaded) as engine:
        told = [answer(submit(engine, prompter, talk(3, rounds), limit=12)) for rounds in (1, 2, 3, 2, 1, 3)]
    fresh = []
    for rounds in (1, 2, 3):
        with running(loaded, prefix_mib=0) as engine:
            fresh.append(answer(submit(engine, prompter, talk(3, rounds), limit=12)))
    for one, rounds in zip(told, (1, 2, 3, 2, 1, 3), strict=True):
        assert one.ids == fresh[rounds - 1].ids
        assert one.logprobs == pytest.approx(fresh[rounds - 1].logprobs, abs=1e-4)


def test_a_prompt_that_was_seen_is_not_reckoned_again(loaded: Loaded, prompter: Prompter, monkeypatch: pytest.MonkeyPatch):
    counted: list[int] = []
    text = loaded.model.model.language_model
    forward = text.forward

    def counting(**given: Any) -> Any:
        counted.append(given["inputs_embeds"].shape[1])
        return forward(**given)

    monkeypatch.setattr(text, "forward", counting)
    with running(loaded) as engine:
        answer(submit(engine, prompter, talk(1, 2), limit=1))
        first = counted[0]
        answer(submit(engine, prompter, talk(1, 3), limit=1))
    assert counted[1] < first
    assert counted[1] == len(prompter.read(talk(1, 3)).ids) - first + (first - shared_tokens(prompter))


def shared_tokens(prompter: Prompter) -> int:
    one, other = prompter.read(talk(1, 2)).identity, prompter.read(talk(1, 3)).identity
    return int((one != other[: len(one)]).argmax()) if (one != other[: len(one)]).any() else len(one)


def test_a_seed_draws_the_same_reply_in_any_company(loaded: Loaded, prompter: Prompter):
    hot = Sampling(temperature=1.0, top_k=8)

    def drawn(engine: Engine, seed: int) -> Future[Any]:
        return submit(engine, prompter, talk(1), sampling=hot, limit=20, chance=random.Random(seed))

    with running(loaded) as engine:
        alone = answer(drawn(engine, 1))
        others = [drawn(engine, seed) for seed in (2, 3, 4)]
        again = drawn(engine, 1)
        assert answer(again).ids == alone.ids
        assert any(answer(other).ids != alone.ids for other in others)


def test_an_end_token_ends_a_reply_and_is_part_of_it(loaded: Loaded, prompter: Prompter):
    with running(loaded) as engine:
        whole = answer(submit(engine, prompter, talk(2), limit=10)).ids
        ended = answer(submit(engine, prompter, talk(2), limit=10, ends=frozenset({whole[4]})))
    cut = whole.index(whole[4]) + 1
    assert ended.ids == whole[:cut]
    assert ended.finish == "stop"


def test_a_dropped_request_gives_its_row_back(loaded: Loaded, prompter: Prompter):
    with running(loaded, rows=1) as engine:
        gone: Future[Any] = Future()
        ask = Ask(prompter.read(talk(1)), GREEDY, LONG, gone.set_result)
        engine.submit(ask)
        waiting = submit(engine, prompter, talk(2), limit=2)
        engine.drop(ask)
        assert len(answer(waiting).ids) == 2
        assert isinstance(gone.result(WITHIN), Unavailable)
        assert len(ask.ids) < LONG


def test_a_dropped_request_leaves_the_queue_at_once(loaded: Loaded, prompter: Prompter):
    with running(loaded, rows=1, waiting=1) as engine:
        long = Ask(prompter.read(talk(1)), GREEDY, LONG, Future().set_result)
        engine.submit(long)
        while not engine.active:
            threading.Event().wait(0.01)
        gone: Future[Any] = Future()
        queued = Ask(prompter.read(talk(2)), GREEDY, 2, gone.set_result)
        engine.submit(queued)
        engine.drop(queued)
        assert isinstance(gone.result(1), Unavailable)
        assert engine.waiting == 0
        engine.drop(long)


def test_a_full_queue_refuses_and_says_when_to_come_back(loaded: Loaded, prompter: Prompter):
    with running(loaded, rows=1, waiting=2) as engine:
        asks = [Ask(prompter.read(talk(n)), GREEDY, LONG, Future().set_result) for n in range(8)]
        refusals = []
        for ask in asks:
            try:
                engine.submit(ask)
            except Overloaded as refused:
                refusals.append(refused.retry_after)
        assert len(refusals) >= 4  # one in the row, two in the queue, one on its way between
        assert all(refusals)
        for ask in asks:
            engine.drop(ask)


def test_a_request_that_can_never_fit_is_refused_by_name(loaded: Loaded, prompter: Prompter):
    with running(loaded, context=256) as engine, pytest.raises(BadRequest, match=r"max_tokens: .* 256"):
        submit(engine, prompter, talk(1), limit=1000)
    with running(loaded, kv_mib=1) as engine, pytest.raises(BadRequest, match="kv_mib"):
        submit(engine, prompter, talk(1), limit=12_000)


def test_new_weights_answer_from_the_next_reply_on(loaded: Loaded, prompter: Prompter, checkpoints: tuple[Path, Path]):
    with running(loaded) as engine:
        before = answer(submit(engine, prompter, talk(1, 2)))
        under_way = submit(engine, prompter, talk(1, 2), limit=40)
        engine.swap(load(checkpoints[1]), drain_seconds=WITHIN).result(WITHIN)
        after = answer(submit(engine, prompter, talk(1, 2)))
        assert engine.generation == 1
    ids, logprobs = generate(checkpoints[1], loaded, talk(1, 2), 8)
    assert list(after.ids) == ids
    assert after.logprobs == pytest.approx(logprobs, abs=1e-4)
    assert answer(under_way).ids[:8] in (before.ids, after.ids)  # it began before the swap, or waited for it; never both


def test_replies_that_outlast_the_drain_are_told_to_come_back(
    loaded: Loaded, prompter: Prompter, checkpoints: tuple[Path, Path]
):
    with running(loaded) as engine:
        endless = submit(engine, prompter, talk(1), limit=LONG)
        while not engine.active:
            threading.Event().wait(0.01)
        engine.swap(load(checkpoints[1]), drain_seconds=0.01).result(WITHIN)
        told = endless.result(WITHIN)
        assert isinstance(told, Unavailable)
        assert told.retry_after


def test_broken_weights_are_an_error_and_never_a_reply(prompter: Prompter, checkpoints: tuple[Path, Path], loaded: Loaded):
    broken = load(checkpoints[0])
    broken.model.lm_head.weight.data.fill_(float("nan"))
    with running(broken) as engine:
        told = submit(engine, prompter, talk(1)).result(WITHIN)
        assert isinstance(told, ServerError)
        engine.swap(loaded, drain_seconds=1).result(WITHIN)
        assert len(answer(submit(engine, prompter, talk(1))).ids) == 8


def test_a_step_that_fails_answers_its_requests_and_the_next_ones_are_served(
    prompter: Prompter, checkpoints: tuple[Path, Path], caplog: pytest.LogCaptureFixture
):
    faulty = load(checkpoints[0])
    head, calls = faulty.model.lm_head, iter([RuntimeError("out of memory")])

    def failing_once(_: Any, given: Any) -> Any:
        for error in calls:
            raise error

    head.register_forward_pre_hook(failing_once)
    with running(faulty) as engine:
        told = submit(engine, prompter, talk(1)).result(WITHIN)
        assert isinstance(told, ServerError)
        assert len(answer(submit(engine, prompter, talk(1))).ids) == 8
    assert "a step failed" in caplog.text


def test_leaving_answers_whatever_is_left(loaded: Loaded, prompter: Prompter):
    with running(loaded, rows=1) as engine:
        replies = [submit(engine, prompter, talk(n), limit=LONG) for n in range(3)]
    assert all(isinstance(replied.result(1), Unavailable) for replied in replies)
    with pytest.raises(Unavailable):
        engine.submit(replace(Ask(prompter.read(talk(1)), GREEDY, 1, Future().set_result)))
