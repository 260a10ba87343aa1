"""One completion: from the request to what the engine is asked, and from its answer to the reply on the wire."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from webgym.errors import BadRequest, ServerError
from webgym.train.serving.engine import Answer, Ask
from webgym.train.serving.prompt import Prompt
from webgym.train.serving.sampling import Sampling
from webgym.train.serving.weights import Loaded
from webgym.train.serving.wire import ChatRequest, Choice, Completion, Logprobs, Spoken, TokenLogprob, Usage


def ask_of(
    request: ChatRequest,
    prompt: Prompt,
    loaded: Loaded,
    tokenizer: Any,
    *,
    context: int,
    done: Callable[[Answer | ServerError], None],
) -> Ask:
    """What the engine is asked. Without a limit, a reply may fill the context."""
    room = context - len(prompt.ids)
    if room < 1:
        raise BadRequest(f"messages: {len(prompt.ids)} tokens leave no room for a reply in a context of {context}")
    defaults, stops = loaded.defaults, request.stops
    return Ask(
        prompt,
        Sampling(
            temperature=defaults.temperature if request.temperature is None else request.temperature,
            top_p=defaults.top_p if request.top_p is None else request.top_p,
            top_k=defaults.top_k if request.top_k is None else max(0, request.top_k),
        ),
        limit=request.limit or room,
        done=done,
        stopped=_stop_finder(tokenizer, stops) if stops else lambda _: False,
        ends=frozenset() if request.ignore_eos else loaded.end_ids,
        chance=random.Random(request.seed),  # noqa: S311 - None: from the system
    )


def completion_of(request: ChatRequest, ask: Ask, answer: Answer, tokenizer: Any) -> Completion:
    """The reply. As with vLLM, ids and log-probabilities include the end token, and the text ends before what stopped it."""
    text = tokenizer.decode(answer.ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    cuts = [(place, stop) for stop in request.stops if (place := text.find(stop)) >= 0]
    prompt, count = len(ask.prompt.ids), len(answer.ids)
    return Completion(
        id=f"chatcmpl-{secrets.token_hex(12)}",
        created=int(time.time()),
        model=request.model,
        choices=(
            Choice(
                message=Spoken(content=text[: min(cuts)[0]] if cuts else text),
                finish_reason=answer.finish,
                stop_reason=min(cuts)[1] if cuts else _other_end(ask, answer, tokenizer.eos_token_id),
                logprobs=_logprobs(answer, tokenizer) if request.logprobs else None,
                token_ids=answer.ids if request.return_token_ids else None,
            ),
        ),
        usage=Usage(prompt_tokens=prompt, completion_tokens=count, total_tokens=prompt + count),
        prompt_token_ids=tuple(ask.prompt.ids.tolist()) if request.return_token_ids else None,
    )


def _other_end(ask: Ask, answer: Answer, eos: int | None) -> int | None:
    """The end token of a reply, if it is not the one that ends a turn."""
    last = answer.ids[-1]
    return last if last in ask.ends and last != eos else None


def _stop_finder(tokenizer: Any, stops: Sequence[str]) -> Callable[[list[int]], bool]:
    # A token is at least one byte, so a stop text that is now complete began at most so many tokens ago.
    longest = max(len(stop.encode()) for stop in stops)

    def found(ids: list[int]) -> bool:
        tail = tokenizer.decode(ids[-longest:], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return any(stop in tail for stop in stops)

    return found


def _logprobs(answer: Answer, tokenizer: Any) -> Logprobs:
    texts = tokenizer.batch_decode([[token] for token in answer.ids], clean_up_tokenization_spaces=False)
    return Logprobs(
        content=tuple(
            TokenLogprob(token=text, logprob=logprob, bytes=tuple(text.encode()))
            for text, logprob in zip(texts, answer.logprobs, strict=True)
        )
    )
