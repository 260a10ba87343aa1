"""From a chat completion to a `Reply`, keeping what a trainer needs.

One text holds everything the model said, whatever a server did to it: thoughts that a reasoning parser split off come back
between `<think>` tags, and calls that a tool parser split off come back as JSON between `<tool_call>` tags, arguments as
they were sent. The text is then `rebuilt`: good to read, and not what the model said to the letter. So is one that a stop
string or stop token ended: the server took that away, and the model never said that its turn was over, which `finish` tells.
Log-probabilities are kept if the server gave a finite one for each token, and dropped if not: half a record would be worse
than none. Whatever a model says is a reply; only a body that is no completion is none.
"""

from __future__ import annotations

import json
import math
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, ValidationError

from webgym.agents.dialects.calls import CLOSE, OPEN
from webgym.agents.dialects.dialect import CLOSE_THOUGHT, OPEN_THOUGHT
from webgym.endpoint.replies import strict_json
from webgym.types import ABORTED, CUT, STOPPED_BY, Reply


class _Function(BaseModel):
    name: str = ""
    arguments: JsonValue = None


class _ToolCall(BaseModel):
    function: _Function


class _Spoken(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _TokenLogprob(BaseModel):
    logprob: float | None = None


class _Logprobs(BaseModel):
    content: list[_TokenLogprob] | None = None


class _Choice(BaseModel):
    message: _Spoken
    finish_reason: str | None = None
    stop_reason: JsonValue = None  # vLLM's: the stop string, the stop token's id, or nothing if the model ended its turn
    logprobs: _Logprobs | None = None
    token_ids: list[int] | None = None


class _Count(BaseModel):
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)


class _Completion(BaseModel):
    """The part of a chat completion that is read; whatever else a server adds is ignored."""

    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: Annotated[_Count | object, Field(union_mode="left_to_right")] = None  # no count is no reason to lose the reply
    prompt_token_ids: list[int] | None = None


def read_completion(text: str, *, asked: str, seconds: float) -> Reply | None:
    """The reply in a completion; None if the text is no completion."""
    said = _parse(text) or _parse(_without_surrogates(text))
    if said is None:
        return None
    choice, usage = said.choices[0], said.usage if isinstance(said.usage, _Count) else _Count()
    ids = tuple(choice.token_ids) if choice.token_ids else None
    logprobs = _logprobs(choice.logprobs)
    if ids is not None and logprobs is not None and len(ids) != len(logprobs):
        ids = logprobs = None
    whole, together = _whole(choice.message, cut=choice.finish_reason in CUT)
    stopped = _stopped(choice)
    return Reply(
        text=whole,
        model=(said.model or asked)[:200],
        finish=stopped or (choice.finish_reason or "")[:100],
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        seconds=seconds,
        prompt_token_ids=tuple(said.prompt_token_ids) if said.prompt_token_ids else None,
        token_ids=ids,
        logprobs=logprobs,
        rebuilt=together or stopped is not None,
    )


def _parse(text: str) -> _Completion | None:
    try:
        return _Completion.model_validate_json(text)
    except ValidationError:
        return None


def _without_surrogates(text: str) -> str:
    """Half a character, which a model can be made to say and a server may escape, is no reason to lose the reply."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace").decode()
    except (ValueError, RecursionError):
        return ""


def _logprobs(told: _Logprobs | None) -> tuple[float, ...] | None:
    given = [token.logprob for token in told.content] if told is not None and told.content else []
    known = tuple(one for one in given if one is not None and math.isfinite(one))
    return known if known and len(known) == len(given) else None


def _stopped(choice: _Choice) -> str | None:
    """How a reply ended that was stopped: the server's word for it is that of a model which ended its turn."""
    if choice.finish_reason in (*CUT, *ABORTED) or isinstance(choice.stop_reason, bool):
        return None
    if isinstance(choice.stop_reason, str) and choice.stop_reason:
        return STOPPED_BY[0]
    return STOPPED_BY[1] if isinstance(choice.stop_reason, int) else None


def _whole(message: _Spoken, *, cut: bool) -> tuple[str, bool]:
    """All that was said in one text, and whether it had to be put together."""
    thought = message.reasoning_content or message.reasoning
    answer = [said] if (said := message.content or message.refusal) else []
    calls = [_call(call.function) for call in message.tool_calls or []]
    parts = [*answer, *calls]
    if thought:
        unfinished = cut and not parts  # the model never came to the end of its thought
        parts.insert(0, f"{OPEN_THOUGHT}\n{thought}" if unfinished else f"{OPEN_THOUGHT}\n{thought}\n{CLOSE_THOUGHT}")
    return "\n".join(parts), bool(thought or calls)


def _call(function: _Function) -> str:
    arguments = function.arguments or "{}"
    if not isinstance(arguments, str):  # some servers have parsed them already
        arguments = json.dumps(arguments)
    try:
        strict_json(arguments)
    except ValueError:
        arguments = json.dumps(arguments)  # a text, which no dialect takes for arguments
    return f'{OPEN}\n{{"name": {json.dumps(function.name)}, "arguments": {arguments}}}\n{CLOSE}'
