"""The native trainer on a tiny Qwen3-VL: it learns, resumes to the byte, and publishes what servers load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText

from tests.unit.train.learning import QUICK, make_images, make_job, make_sample
from webgym.errors import ConfigError, StoreError, TrainError
from webgym.store.samples import write_samples
from webgym.train import native
from webgym.train.batches import held_back
from webgym.train.checkpoint import is_complete
from webgym.train.encoding import ImageFolders, load_processor
from webgym.train.job import Lora, NothingToLearn, Progress, TrainJob, TrainResult, TrainSettings, read_result
from webgym.train.readiness import check_ready
from webgym.train.weights import load_model
from webgym.types import Reply

pytestmark = pytest.mark.timeout(300)


def changed(settings: TrainSettings = QUICK, **changes: Any) -> TrainSettings:
    return TrainSettings.model_validate(settings.model_dump() | changes)


def done(job: TrainJob, report: Callable[[Progress], None] = lambda _: None) -> TrainResult:
    native.run(job, report)
    result = read_result(job.output)
    assert result is not None
    return result


def weights(result: TrainResult) -> dict[str, torch.Tensor]:
    return load_file(result.checkpoint / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_it_overfits_one_batch_and_says_how_it_goes(model: Path, tmp_path: Path) -> None:
    said: list[Progress] = []
    result = done(make_job(tmp_path, model, 4, changed(updates=40, batch=4, accumulation=1, lr=1e-2)), said.append)
    assert result.loss_before > 4
    assert result.loss_after < 0.2
    assert [one.update for one in said] == list(range(1, 41))
    assert said[-1].tokens == result.tokens
    assert result.samples == 4
    assert AutoModelForImageTextToText.from_pretrained(result.checkpoint).dtype == torch.float32


@pytest.mark.parametrize("broken", [float("inf"), float("nan")])
def test_an_update_without_a_finite_gradient_is_not_made(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: float
) -> None:
    """One step along it and no weight is a number any more, also if the loss was one."""

    class Exploding(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, values: torch.Tensor) -> torch.Tensor:
            return values.clone()

        @staticmethod
        def backward(_: Any, *gradients: torch.Tensor) -> torch.Tensor:
            return gradients[0] * broken

    logprobs = native.token_logprobs
    monkeypatch.setattr(native, "token_logprobs", lambda *given: Exploding.apply(logprobs(*given)))
    with pytest.raises(TrainError, match="the gradient of update 1 is"):
        done(make_job(tmp_path, model, 2, changed(updates=1)))
    assert not is_complete(tmp_path / "checkpoints" / "000000")


def test_resuming_is_identical_to_the_bit_to_never_having_stopped(model: Path, tmp_path: Path) -> None:
    whole = done(make_job(tmp_path, model, 8, changed(updates=4), output=tmp_path / "whole"))
    half = done(make_job(tmp_path, model, 8, changed(updates=2), output=tmp_path / "half"))
    rest = make_job(tmp_path, half.checkpoint, 8, changed(updates=2), output=tmp_path / "rest", optimizer=half.optimizer)
    check_ready(half.checkpoint, half.optimizer, rest.settings)
    ended = done(rest)
    assert not same(weights(half), weights(ended))
    assert same(weights(whole), weights(ended))
    moments = [load_file(one.checkpoint / "optimizer" / "moments.safetensors") for one in (whole, ended)]
    assert same(*moments)
    assert (ended.checkpoint / "optimizer" / "state.json").read_text() == (
        tmp_path / "whole/optimizer/state.json"
    ).read_text()
    forgetful = done(rest.model_copy(update={"optimizer": None, "output": tmp_path / "forgetful"}))
    assert not same(weights(whole), weights(forgetful))


def test_small_updates_survive_a_checkpoint_that_is_published_in_bfloat16(model: Path, tmp_path: Path) -> None:
    rounded = tmp_path / "rounded"
    AutoModelForImageTextToText.from_pretrained(model).to(torch.bfloat16).save_pretrained(rounded)
    for name in ("tokenizer.json", "tokenizer_config.json", "processor_config.json", "chat_template.jinja"):
        (rounded / name).write_bytes((model / name).read_bytes())
    gentle = changed(lr=1e-5, warmup=0)
    whole = done(make_job(tmp_path, rounded, 8, changed(gentle, updates=4), output=tmp_path / "whole"))
    half = done(make_job(tmp_path, rounded, 8, changed(gentle, updates=2), output=tmp_path / "half"))
    more = {"output": tmp_path / "rest", "optimizer": half.optimizer}
    rest = done(make_job(tmp_path, half.checkpoint, 8, changed(gentle, updates=2), **more))
    assert {one.dtype for one in weights(rest).values()} == {torch.bfloat16}
    exact = [load_file(one.checkpoint / "optimizer" / "weights.safetensors") for one in (whole, rest)]
    assert same(*exact)
    assert same(weights(whole), weights(rest))


def test_a_decaying_rate_begins_full_and_ends_small(model: Path, tmp_path: Path) -> None:
    def moved(updates: int, *, decay: bool) -> float:
        settings = changed(warmup=0, updates=updates, decay=decay)
        ended = done(make_job(tmp_path, model, 8, settings, output=tmp_path / f"{updates}-{decay}"))
        before, after = load_file(model / "model.safetensors"), weights(ended)
        return sum(float((after[name] - before[name]).abs().sum()) for name in before)

    assert moved(1, decay=True) == moved(1, decay=False)
    assert 0.3 < moved(4, decay=True) / moved(4, decay=False) < 0.9


def test_accumulation_changes_memory_and_not_the_gradient(model: Path, tmp_path: Path) -> None:
    at_once = done(make_job(tmp_path, model, 8, changed(updates=2, batch=4, accumulation=1), output=tmp_path / "a"))
    in_parts = done(make_job(tmp_path, model, 8, changed(updates=2, batch=1, accumulation=4), output=tmp_path / "b"))
    assert at_once.loss_after == pytest.approx(in_parts.loss_after, abs=1e-4)


def test_gradient_checkpointing_changes_memory_and_not_the_result(model: Path, tmp_path: Path) -> None:
    plain = done(make_job(tmp_path, model, 4, changed(updates=2), output=tmp_path / "a"))
    saving = done(make_job(tmp_path, model, 4, changed(updates=2, gradient_checkpointing=True), output=tmp_path / "b"))
    assert plain.loss_after == pytest.approx(saving.loss_after, abs=1e-5)


def test_an_adapter_is_merged_for_servers_and_kept_for_the_next_job(model: Path, tmp_path: Path) -> None:
    lora = changed(lora=Lora(rank=4, alpha=8).model_dump(), lr=1e-2, updates=2)
    whole = done(make_job(tmp_path, model, 8, changed(lora, updates=4), output=tmp_path / "whole"))
    half = done(make_job(tmp_path, model, 8, lora, output=tmp_path / "half"))
    rest = done(make_job(tmp_path, half.checkpoint, 8, lora, output=tmp_path / "rest", optimizer=half.optimizer))
    check_ready(half.checkpoint, half.optimizer, lora)
    with pytest.raises(ConfigError, match="vision tower"):
        check_ready(half.checkpoint, None, changed(lora, freeze_vision=True))
    base = load_file(model / "model.safetensors")
    assert weights(half).keys() == base.keys()
    assert not same(weights(half), base)
    assert same(weights(whole), weights(rest))
    with pytest.raises(ConfigError, match="lora"):
        done(make_job(tmp_path, half.checkpoint, 8, QUICK, output=tmp_path / "other"))


def test_what_an_adapter_drops_is_drawn_by_the_update_and_not_by_the_job(model: Path, tmp_path: Path) -> None:
    lora = changed(lora=Lora(rank=4, dropout=0.5).model_dump(), lr=1e-2, updates=2)
    whole = done(make_job(tmp_path, model, 8, changed(lora, updates=4), output=tmp_path / "whole"))
    half = done(make_job(tmp_path, model, 8, lora, output=tmp_path / "half"))
    rest = done(make_job(tmp_path, half.checkpoint, 8, lora, output=tmp_path / "rest", optimizer=half.optimizer))
    assert same(weights(whole), weights(rest))


def test_an_adapter_on_weights_in_bfloat16_is_trained_in_float32(model: Path, tmp_path: Path) -> None:
    loaded = load_model(make_job(tmp_path, model, 4, changed(lora=Lora(rank=4).model_dump(), bf16=True)))
    assert {one.dtype for one in loaded.parameters() if one.requires_grad} == {torch.float32}
    assert {one.dtype for one in loaded.parameters() if not one.requires_grad} == {torch.bfloat16}


@pytest.mark.parametrize("targets", [(), ("q_proj", "qkv")], ids=["all", "some that the tower has, too"])
def test_an_adapter_leaves_a_frozen_vision_tower_alone(model: Path, tmp_path: Path, targets: tuple[str, ...]) -> None:
    lora = Lora(rank=4, targets=targets).model_dump()
    loaded = load_model(make_job(tmp_path, model, 4, changed(lora=lora, freeze_vision=True)))
    trained = [name for name, one in loaded.named_parameters() if one.requires_grad]
    assert trained
    assert not any("visual" in name for name in trained)


def test_a_frozen_vision_tower_stays_as_it_is(model: Path, tmp_path: Path) -> None:
    result = done(make_job(tmp_path, model, 4, changed(freeze_vision=True, updates=2)))
    before, after = load_file(model / "model.safetensors"), weights(result)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert not any("visual" in name for name in moved)


def test_tasks_held_back_are_measured_and_never_trained_on(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 16, changed(validation=0.4, updates=6, lr=1e-2))
    data = native.load_data(job, load_processor(model), ImageFolders(job.images))
    assert data.validation
    assert not {row.task for row in data.train} & {row.task for row in data.validation}
    result = done(job)
    assert result.validation_before is not None
    assert result.validation_after is not None
    assert result.validation_after < result.validation_before
    assert result.samples == len(data.train)


def test_texts_that_were_put_together_are_counted_and_left_out(model: Path, tmp_path: Path) -> None:
    images = make_images(tmp_path / "images")
    rebuilt = Reply(text="<think>\nHm.\n</think>\nSo.", rebuilt=True)
    odd = [make_sample(images, n, reply=rebuilt) for n in range(2)]
    write_samples(tmp_path / "samples.parquet", [make_sample(images, 5), *odd])
    job = make_job(tmp_path, model)
    data = native.load_data(job, load_processor(model), ImageFolders(job.images))
    assert (len(data.train), data.left_out) == (1, 2)
    write_samples(tmp_path / "samples.parquet", odd)
    with pytest.raises(NothingToLearn, match="2 were taken apart by the model server"):
        native.load_data(job, load_processor(model), ImageFolders(job.images))


def test_samples_that_were_asked_in_another_prompt_are_counted_and_left_out(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    images = make_images(tmp_path / "images")
    other = make_sample(images, 1, reply=Reply(text="So.", prompt_tokens=7))
    write_samples(tmp_path / "samples.parquet", [make_sample(images, 5), other, other])
    job = make_job(tmp_path, model)
    data = native.load_data(job, load_processor(model), ImageFolders(job.images))
    assert (len(data.train), data.left_out) == (1, 2)
    assert "2 samples were asked in another prompt" in caplog.text
    write_samples(tmp_path / "samples.parquet", [other, other])
    with pytest.raises(
        NothingToLearn,
        match=r"2 were asked in another prompt .*\(model\.policy\.extra_body .* play with model\.policy\.token_ids",
    ):
        native.load_data(job, load_processor(model), ImageFolders(job.images))


@pytest.mark.parametrize("lost", [False, True], ids=["damaged", "gone"])
def test_samples_whose_screenshots_are_damaged_or_gone_are_counted_and_left_out(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, lost: bool
) -> None:
    images = make_images(tmp_path / "images")
    hurt = make_sample(images, 3)
    write_samples(tmp_path / "samples.parquet", [make_sample(images, 9), hurt])
    for part in hurt.prompt[1].parts:
        if part.kind == "image":
            path = images.path(part.sha256)
            data = bytearray(path.read_bytes())
            data[-20] ^= 1
            path.write_bytes(data)
            if lost:
                path.unlink()
    result = done(make_job(tmp_path, model))
    assert (result.samples, result.left_out) == (1, 1)
    assert "1 samples show screenshots that are damaged or gone" in caplog.text
    write_samples(tmp_path / "samples.parquet", [hurt])
    with pytest.raises(StoreError, match="1 show screenshots that are damaged or gone"):  # a disk that is away, perhaps
        done(make_job(tmp_path, model, output=tmp_path / "checkpoints" / "000001"))


def test_samples_that_are_too_long_are_counted_and_left_out(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 8)
    data = native.load_data(job, load_processor(model), ImageFolders(job.images))
    longest = max(map(len, data.train))
    shorter = changed(max_tokens=longest - 1)
    data = native.load_data(job.model_copy(update={"settings": shorter}), load_processor(model), ImageFolders(job.images))
    assert data.left_out > 0
    assert len(data.train) + data.left_out == 8
    with pytest.raises(ConfigError, match="max_tokens"):
        done(job.model_copy(update={"settings": changed(max_tokens=16)}))
    assert not is_complete(job.output)


def test_a_job_without_anything_to_learn_says_why_of_every_sample(model: Path, tmp_path: Path) -> None:
    images = make_images(tmp_path / "images")
    forged = make_sample(images, 1, reply=Reply(text="<|image_pad|>"))
    long = make_sample(images, 2, reply=Reply(text="on and on " * 400))
    write_samples(tmp_path / "samples.parquet", [make_sample(images, 0), forged, long, long])
    held = next(seed for seed in range(100) if held_back("task-0", 0.5, seed))
    job = make_job(tmp_path, model, 4, changed(validation=0.5, seed=held, max_tokens=1000))
    said = r"1 spell image tokens, 2 are over max_tokens \(1000\), 1 are of tasks that validation holds back"
    with pytest.raises(NothingToLearn, match=said):
        native.load_data(job, load_processor(model), ImageFolders(job.images))


def test_grpo_moves_toward_what_did_better_than_its_group(model: Path, tmp_path: Path) -> None:
    images = make_images(tmp_path / "images")
    processor = load_processor(model)

    def compared(n: int, advantage: float) -> Any:
        sample = make_sample(images, n, advantage=advantage)
        ids = (*processor.tokenizer(sample.reply.text)["input_ids"], processor.tokenizer.eos_token_id)
        told = sample.reply.model_copy(update={"token_ids": ids, "logprobs": (-6.0,) * len(ids)})
        return sample.model_copy(update={"reply": told})

    write_samples(tmp_path / "samples.parquet", [compared(n, 1.0 if n % 2 else -1.0) for n in range(4)])
    result = done(make_job(tmp_path, model, 4, changed(objective="grpo", updates=3, batch=4, accumulation=1)))
    assert result.loss_after < result.loss_before
    with pytest.raises(ConfigError, match="filtered_bc"):
        done(make_job(tmp_path, model, 4, output=tmp_path / "cloned"))


def test_the_state_of_another_optimiser_is_refused_by_name(model: Path, tmp_path: Path) -> None:
    lora = changed(lora=Lora(rank=4).model_dump(), updates=1)
    other = done(make_job(tmp_path, model, 4, lora, output=tmp_path / "adapter"))
    with pytest.raises(ConfigError, match="optimizer"):
        done(make_job(tmp_path, model, 4, output=tmp_path / "full", optimizer=other.optimizer))


def test_what_was_frozen_can_be_trained_in_the_next_job(model: Path, tmp_path: Path) -> None:
    first = done(make_job(tmp_path, model, 4, changed(freeze_vision=True), output=tmp_path / "first"))
    settings = changed(freeze_vision=False)
    job = make_job(tmp_path, first.checkpoint, 4, settings, output=tmp_path / "second", optimizer=first.optimizer)
    before, after = weights(first), weights(done(job))
    assert any(not torch.equal(before[name], after[name]) for name in before if "visual" in name)


@pytest.mark.parametrize(("device", "environment"), [("cpu", {}), ("auto", {"ACCELERATE_USE_CPU": "true"})])
def test_deepspeed_is_never_left_out_in_silence(
    device: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ({"ACCELERATE_USE_DEEPSPEED": "true"} | environment).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"device: .*DeepSpeed"):
        native.make_accelerator(changed(device=device))
