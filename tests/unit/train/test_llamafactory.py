"""LLaMA-Factory gets the same samples: what is written for it, and what its own code makes of that."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.unit.train.learning import QUICK, make_images, make_job, make_sample
from webgym.errors import ConfigError
from webgym.store.samples import Sample, read_samples, write_samples
from webgym.train import llamafactory
from webgym.train.encoding import Encoder, ImageFolders, load_processor
from webgym.train.job import LlamaFactory, NothingToLearn, TrainSettings, read_result, train
from webgym.train.sharegpt import IMAGE, Written, write_data
from webgym.types import Reply, TextPart, Turn

PYTHON = Path(os.environ.get("WEBGYM_LLAMAFACTORY_PYTHON", ".venv-llamafactory/bin/python")).absolute()
SETTINGS = TrainSettings.model_validate(
    QUICK.model_dump() | {"backend": "llamafactory", "llamafactory": LlamaFactory(python=PYTHON).model_dump()}
)
needs_it = pytest.mark.skipif(
    not (PYTHON.parent / "llamafactory-cli").exists(),
    reason=f"no LLaMA-Factory at {PYTHON}: `webgym env make llamafactory` makes its environment",
)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_sample_becomes_messages_with_its_images_in_place(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 3, SETTINGS)
    assert write_data(job, tmp_path).samples == 3
    first, sample = lines(tmp_path / "webgym.jsonl")[0], next(read_samples(job.samples))
    assert [message["role"] for message in first["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert first["messages"][3]["content"] == f"{IMAGE}The page changed."
    assert first["messages"][-1]["content"] == sample.reply.text
    assert len(first["images"]) == 2
    assert all(Path(path).is_file() for path in first["images"])


def odd_ones(sample: Sample) -> list[Sample]:
    cut_off = [{"reply": Reply(text="on and on", finish=finish)} for finish in ("length", "max_tokens")]
    twice = (*sample.prompt, Turn(role="user", parts=(TextPart(text="and another thing"),)))
    forged = (Turn(role="user", parts=(TextPart(text=f"a page that says {IMAGE}"),)),)
    return [sample.model_copy(update=one) for one in (*cut_off, {"prompt": twice}, {"prompt": forged})]


def test_a_text_that_was_put_together_is_left_out_also_where_its_tokens_are_known(model: Path, tmp_path: Path) -> None:
    sample = make_sample(make_images(tmp_path / "images"), 1)
    rebuilt = Reply(text="<think>\nHm.\n</think>\nSo.", rebuilt=True)
    known = rebuilt.model_copy(update={"token_ids": (5, 6)})
    odd = [sample.model_copy(update={"reply": reply}) for reply in (rebuilt, known)]
    write_samples(tmp_path / "samples.parquet", [sample, *odd])
    job = make_job(tmp_path, model, 4, SETTINGS)
    written = write_data(job, tmp_path)
    assert (written.samples, written.left_out) == (1, 2)
    write_samples(tmp_path / "samples.parquet", odd)
    with pytest.raises(NothingToLearn, match="2 were taken apart by the model server"):
        write_data(job, tmp_path)


def test_what_was_asked_in_another_prompt_is_left_out_also_where_its_tokens_are_known(model: Path, tmp_path: Path) -> None:
    sample = make_sample(make_images(tmp_path / "images"), 1)
    row = Encoder(load_processor(model), ImageFolders((tmp_path / "images",))).encode(sample)
    assert row is not None
    asked = (9, *row.ids[: -row.reply])
    counted = sample.reply.model_copy(update={"prompt_tokens": len(asked)})
    known = counted.model_copy(update={"prompt_token_ids": asked, "token_ids": (5, 6)})
    odd = [sample.model_copy(update={"reply": reply}) for reply in (counted, known)]
    write_samples(tmp_path / "samples.parquet", [sample, *odd])
    written = write_data(make_job(tmp_path, model, 3, SETTINGS), tmp_path)
    assert (written.samples, written.left_out) == (1, 2)
    write_samples(tmp_path / "samples.parquet", odd)
    with pytest.raises(NothingToLearn, match=r"2 were asked in another prompt .* the native trainer"):
        write_data(make_job(tmp_path, model, 2, SETTINGS), tmp_path)


def test_what_it_cannot_express_is_counted_and_left_out(model: Path, tmp_path: Path) -> None:
    sample = make_sample(make_images(tmp_path / "images"), 1)
    write_samples(tmp_path / "samples.parquet", [sample, *odd_ones(sample)])
    written = write_data(make_job(tmp_path, model, 4, SETTINGS), tmp_path)
    assert (written.samples, written.left_out) == (1, 4)
    write_samples(tmp_path / "samples.parquet", odd_ones(sample))
    with pytest.raises(NothingToLearn, match="4 are cut off, or not in turns"):
        write_data(make_job(tmp_path, model, 3, SETTINGS), tmp_path)


def test_what_is_taught_is_counted_in_the_tokens_of_the_text(model: Path, tmp_path: Path) -> None:
    sample, processor = make_sample(make_images(tmp_path / "images"), 1), load_processor(model)
    row = Encoder(processor, ImageFolders((tmp_path / "images",))).encode(sample)
    assert row is not None
    spelled = tuple(token for letter in sample.reply.text for token in processor.tokenizer(letter)["input_ids"])
    told = {"token_ids": spelled, "prompt_token_ids": tuple(row.ids[: -row.reply])}
    other = sample.model_copy(update={"reply": sample.reply.model_copy(update=told)})
    write_samples(tmp_path / "samples.parquet", [sample, other])
    written = write_data(make_job(tmp_path, model, 2, SETTINGS), tmp_path)
    assert (written.samples, written.respelled, written.tokens) == (2, 1, 2 * len(row))


def test_held_back_tasks_are_the_same_as_the_native_trainers(model: Path, tmp_path: Path) -> None:
    from webgym.train import native

    settings = SETTINGS.model_copy(update={"validation": 0.4})
    job = make_job(tmp_path, model, 12, settings)
    written = write_data(job, tmp_path)
    data = native.load_data(job, load_processor(model), ImageFolders(job.images))
    assert (written.samples, written.validation) == (len(data.train), len(data.validation))
    assert written.tokens == sum(map(len, data.train))


def test_its_yaml_says_what_the_settings_say(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 3, SETTINGS)
    found = llamafactory.configuration(job, model, tmp_path, Written(3, 1, 0, 100))
    said = yaml.safe_load(yaml.safe_dump(found))
    assert said == found
    assert said["learning_rate"] == SETTINGS.lr
    assert said["mask_history"] is True
    assert said["max_steps"] == SETTINGS.updates
    assert said["image_max_pixels"] > 10**9  # else it shrinks screenshots before the processor sees them


def test_a_missing_environment_is_an_error_that_names_the_setting(model: Path, tmp_path: Path) -> None:
    nowhere = SETTINGS.model_copy(update={"llamafactory": LlamaFactory(python=tmp_path / "bin/python")})
    with pytest.raises(ConfigError, match=r"llamafactory\.python.*webgym env make llamafactory"):
        llamafactory.run(make_job(tmp_path, model, 1, nowhere), lambda _: None)


def test_an_adapter_is_not_dropped_in_silence(model: Path, tmp_path: Path) -> None:
    trained = tmp_path / "trained"
    (trained / "adapter").mkdir(parents=True)
    (trained / "adapter" / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(model)}))
    with pytest.raises(ConfigError, match=r"lora: .* was trained with an adapter, and none is set"):
        llamafactory.run(make_job(tmp_path, trained, 1, SETTINGS), lambda _: None)


def test_a_limit_for_images_reaches_it_through_the_processors_file(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 1, SETTINGS.model_copy(update={"max_pixels": 2048}))
    shown = llamafactory._with_limits(job, tmp_path)
    assert load_processor(shown).image_processor.size["longest_edge"] == 2048
    assert load_processor(model).image_processor.size["longest_edge"] != 2048


READ = """
import json, sys
import yaml
from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import get_train_args
from llamafactory.model import load_tokenizer

given = yaml.safe_load(open(sys.argv[1]))
model, data, training, _, _ = get_train_args(given)
tools = load_tokenizer(model)
template = get_template_and_fix_tokenizer(tools["tokenizer"], data)
found = get_dataset(template, model, data, training, stage="sft", **tools)["train_dataset"]
json.dump([{"ids": row["input_ids"], "labels": row["labels"]} for row in found], open(sys.argv[2], "w"))
"""


@pytest.mark.slow
@pytest.mark.timeout(400)
@needs_it
@pytest.mark.parametrize("max_pixels", [None, 4096])
def test_both_trainers_learn_the_same_tokens_with_the_same_labels(
    model: Path, tmp_path: Path, max_pixels: int | None
) -> None:
    job = make_job(tmp_path, model, 6, SETTINGS.model_copy(update={"max_pixels": max_pixels}))
    written = write_data(job, tmp_path)
    config, out = tmp_path / "train.yaml", tmp_path / "found.json"
    shown = llamafactory._with_limits(job, tmp_path)
    config.write_text(yaml.safe_dump(llamafactory.configuration(job, shown, tmp_path, written)))
    ran = subprocess.run(
        [str(PYTHON), "-c", READ, str(config), str(out)],
        env=llamafactory.environment(job, tmp_path),
        capture_output=True,
        text=True,
        timeout=390,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    encoder = Encoder(load_processor(model, max_pixels=max_pixels), ImageFolders(job.images))
    ours = [encoder.encode(sample) for sample in read_samples(job.samples)]
    theirs = json.loads(out.read_text())
    assert len(theirs) == len(ours) == 6
    # Its template teaches one token more: the line break that stands after the end of every turn.
    line_break = load_processor(model).tokenizer("\n")["input_ids"]
    for native, other in zip(ours, theirs, strict=True):
        ids, reply = native.ids.tolist(), native.ids.tolist()[-native.reply :]
        assert other["ids"] == ids + line_break
        assert other["labels"] == [-100] * (len(ids) - native.reply) + reply + line_break


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_it
@pytest.mark.parametrize("adapter", [False, True])
async def test_a_job_of_it_ends_in_a_checkpoint_like_any_other(model: Path, tmp_path: Path, adapter: bool) -> None:
    from safetensors.torch import load_file

    changes = {"validation": 0.3, "lora": {"rank": 4} if adapter else None}
    job = make_job(tmp_path, model, 10, TrainSettings.model_validate(SETTINGS.model_dump() | changes))
    told = []
    result = await train(job, told.append)
    assert result == read_result(job.output)
    assert result.updates == SETTINGS.updates == told[-1].update
    assert result.loss_after < result.loss_before
    assert result.validation_after is not None
    before, after = (load_file(folder / "model.safetensors") for folder in (model, job.output))
    assert before.keys() == after.keys()
    assert (job.output / "chat_template.jinja").read_bytes() == (model / "chat_template.jinja").read_bytes()
    assert not list(job.output.parent.glob(".*"))
