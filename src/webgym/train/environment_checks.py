"""Whether an environment works: not that it imports, but that it does its work once on a tiny model with a picture.

serve          vLLM starts, answers with token ids, takes new weights live, answers differently, ends without a trace
llamafactory   one update by LLaMA-Factory makes a whole checkpoint
train          one update by the native trainer makes a whole checkpoint, and the embedded server answers from it
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import sys
import tempfile
from pathlib import Path
from typing import assert_never

from pydantic import BaseModel, Field, JsonValue, ValidationError

from webgym.config import load
from webgym.errors import ConfigError, EndpointDown, WebGymError
from webgym.store.files import Disk
from webgym.store.images import Images
from webgym.store.samples import Sample, write_samples
from webgym.train.environments import EnvironmentSettings, Recipe, Say, recipe, require, say_on_stderr
from webgym.train.job import LlamaFactory, TrainJob, TrainResult, TrainSettings, train
from webgym.train.serving.endpoint import ModelServer, command, key_headers, serving
from webgym.train.serving.settings import KEY_VARIABLE, EmbeddedSettings, VllmSettings
from webgym.train.tiny import make_tiny
from webgym.types import ImagePart, Reply, TextPart, Turn

ANSWER_SECONDS = 120.0
TRAIN_SECONDS = 900.0
SAMPLES = 2
QUICK = TrainSettings(
    lr=1e-3,
    updates=1,
    batch=SAMPLES,
    accumulation=1,
    warmup=0,
    max_tokens=1024,
    bf16=False,
    gradient_checkpointing=False,
    device="cpu",
    deadline=TRAIN_SECONDS,
)


class _Choice(BaseModel):
    token_ids: list[int] = Field(min_length=1)


class _Completion(BaseModel):
    """What is read of a completion; servers add more."""

    choices: list[_Choice] = Field(min_length=1)


def check(wanted: Recipe, say: Say) -> None:
    """Raises ConfigError, which says what does not work."""
    require(wanted)
    try:
        with tempfile.TemporaryDirectory(prefix="webgym-check-") as scratch:
            asyncio.run(_check(wanted, Path(scratch), say))
    except ConfigError:
        raise
    except WebGymError as e:
        raise ConfigError(f"the environment {wanted.name} does not work: {e}") from e


async def _check(wanted: Recipe, scratch: Path, say: Say) -> None:
    say("making a tiny model")
    first = await asyncio.to_thread(make_tiny, scratch / "first", 0)
    match wanted.name:
        case "serve":
            second = await asyncio.to_thread(make_tiny, scratch / "second", 1)
            settings = _vllm(wanted, scratch / "server.log")
            say("starting vLLM")
            async with serving(settings, first) as server:
                before = await _answer(server)
                say("giving it new weights")
                await server.reload(second)
                if await _answer(server) == before:
                    raise EndpointDown("new weights were loaded and the model says what it said before")
        case "llamafactory":
            say("training one update")
            theirs = {"backend": "llamafactory", "llamafactory": LlamaFactory(python=wanted.python.absolute())}
            result = await _update(scratch, first, QUICK.model_copy(update=theirs))
            say(f"{result.updates} update of {result.samples} samples in {result.seconds_total:.0f} s")
        case "train":
            say("training one update")
            result = await _update(scratch, first, QUICK)
            say("serving what came of it")
            async with serving(EmbeddedSettings(log=scratch / "server.log"), result.checkpoint) as server:
                await _answer(server)
        case _:
            assert_never(wanted.name)


def _vllm(wanted: Recipe, log: Path) -> VllmSettings:
    small = {"python": wanted.python, "max_model_len": 2048, "log": log}
    return VllmSettings.model_validate(small) if wanted.pins is None else VllmSettings.on_cpu(**small)


async def _update(scratch: Path, model: Path, settings: TrainSettings) -> TrainResult:
    images, samples = Images(scratch / "images", Disk(scratch)), scratch / "samples.parquet"
    shown = ImagePart(sha256=images.put(_picture(), "png"))
    asked = Turn(role="user", parts=(TextPart(text="What is on the page?"), shown))
    made = [
        Sample(
            episode=hashlib.sha256(bytes([n])).hexdigest()[:32],
            step=0,
            task=f"check-{n}",
            website="http://check.localhost",
            iteration=0,
            prompt=(asked,),
            reply=Reply(text="A red field."),
        )
        for n in range(SAMPLES)
    ]
    write_samples(samples, made)
    job = TrainJob(
        model=model,
        samples=samples,
        images=(scratch / "images",),
        output=scratch / "checkpoints" / "000000",
        iteration=0,
        settings=settings,
    )
    return await train(job)


async def _answer(server: ModelServer) -> list[int]:
    url = f"data:image/png;base64,{base64.b64encode(_picture()).decode()}"
    asked: list[JsonValue] = [
        {"type": "text", "text": "What is on the page?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    body: dict[str, JsonValue] = {
        "model": server.model,
        "messages": [{"role": "user", "content": asked}],
        "max_tokens": 8,
        "temperature": 0,
        "return_token_ids": True,
    }
    headers = key_headers(KEY_VARIABLE)
    text = await command(f"{server.url}/chat/completions", within=ANSWER_SECONDS, headers=headers, body=body)
    try:
        return _Completion.model_validate_json(text).choices[0].token_ids
    except ValidationError as e:
        raise EndpointDown(f"the answer has no token ids: {text[:300]}") from e


def _picture() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (96, 64), "red").save(out, "PNG")
    return out.getvalue()


def run_check(name: str, arguments: list[str]) -> int:
    """`webgym env check NAME`."""
    settings = load(EnvironmentSettings, arguments, command=f"webgym env check {name}")
    check(recipe(name, cuda=settings.cuda), say_on_stderr)
    sys.stdout.write(f"the environment {name} works\n")
    return 0
