"""Samples as the data LLaMA-Factory reads: ShareGPT messages with images by path, and the file that describes them.

Both trainers get the same samples. LLaMA-Factory gets them as text and makes tokens of it by itself, so a reply that was
said in other tokens than its text comes to is taught in the latter; how many are is logged. What it cannot express is left
out and counted: a reply that was cut off (it always teaches the end of the turn), one whose text a model server took apart
or whose prompt it rendered otherwise, turns that do not alternate, and prompts over the limit (it would cut them). Its
placeholders for media are set to words no page says, so that a page about HTML is not taken for a page of pictures.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from webgym.store.samples import Sample, read_samples
from webgym.train.batches import held_back
from webgym.train.encoding import Encoder, ImageFolders, LeftOut, load_processor
from webgym.train.job import TrainJob, nothing_to_learn, tell_left_out
from webgym.train.objectives import check
from webgym.types import CUT, Turn

log = logging.getLogger(__name__)

IMAGE: Final = "<|webgym image|>"
PLACEHOLDERS: Final = {
    "IMAGE_PLACEHOLDER": IMAGE,
    "VIDEO_PLACEHOLDER": "<|webgym video|>",
    "AUDIO_PLACEHOLDER": "<|webgym audio|>",
}
TRAIN, VALIDATION = "webgym", "webgym_validation"
END_TOKENS: Final = 1  # its template teaches a line break after the end of the turn


@dataclass(frozen=True)
class Written:
    """What was written for LLaMA-Factory."""

    samples: int
    validation: int
    left_out: int
    tokens: int  # of all samples, once
    respelled: int = 0  # whose text comes to other tokens than the rollout's


def write_data(job: TrainJob, folder: Path) -> Written:
    """Write the samples of a job and `dataset_info.json` into a folder."""
    settings, images = job.settings, ImageFolders(job.images)
    encoder = Encoder(load_processor(job.model, min_pixels=settings.min_pixels, max_pixels=settings.max_pixels), images)
    counts = {TRAIN: 0, VALIDATION: 0}
    left_out: Counter[str] = Counter()
    tokens = respelled = 0
    with (folder / f"{TRAIN}.jsonl").open("w") as train, (folder / f"{VALIDATION}.jsonl").open("w") as validation:
        for sample in read_samples(job.samples):
            if not _expressible(sample):
                left_out["are cut off, or not in turns"] += 1
                continue
            row, said = encoder.read(_as_text(sample)), encoder.read(sample)
            if isinstance(row, LeftOut):
                left_out[row.reason] += 1
                continue
            if isinstance(said, LeftOut):
                left_out[said.reason] += 1
                continue
            if len(row) + END_TOKENS > settings.max_tokens:
                left_out[f"are over max_tokens ({settings.max_tokens})"] += 1
                continue
            check(row, "filtered_bc")
            respelled += said.ids != row.ids
            back = held_back(sample.task, settings.validation, settings.seed)
            line = {"messages": conversation(sample), "images": [str(images.path(one).absolute()) for one in row.images]}
            (validation if back else train).write(json.dumps(line, ensure_ascii=False) + "\n")
            counts[VALIDATION if back else TRAIN] += 1
            tokens += 0 if back else len(row)
    if not counts[TRAIN]:
        raise nothing_to_learn(job, left_out, counts[VALIDATION])
    tell_left_out(left_out)
    if respelled:
        log.warning("%d of %d samples are taught in other tokens than they were said in", respelled, sum(counts.values()))
    (folder / "dataset_info.json").write_text(json.dumps(_description(), indent=2) + "\n")
    return Written(counts[TRAIN], counts[VALIDATION], left_out.total(), tokens, respelled)


def _as_text(sample: Sample) -> Sample:
    """A sample as LLaMA-Factory sees it: without the tokens of the rollout."""
    reply = sample.reply.model_copy(update={"prompt_token_ids": None, "token_ids": None, "logprobs": None})
    return sample.model_copy(update={"reply": reply})


def conversation(sample: Sample) -> list[dict[str, str]]:
    """The prompt and its reply as messages of plain text."""
    said = [{"role": turn.role, "content": _text(turn)} for turn in sample.prompt]
    return [*said, {"role": "assistant", "content": sample.reply.text}]


def _text(turn: Turn) -> str:
    return "".join(part.text if part.kind == "text" else IMAGE for part in turn.parts)


def _expressible(sample: Sample) -> bool:
    roles = [turn.role for turn in sample.prompt]
    asked = roles[1:] if roles[0] == "system" else roles
    texts = [part.text for turn in sample.prompt for part in turn.parts if part.kind == "text"]
    return (
        sample.reply.finish not in CUT
        and asked == _alternating(len(asked))
        and len(asked) % 2 == 1
        and not any(word in text for word in PLACEHOLDERS.values() for text in (*texts, sample.reply.text))
    )


def _alternating(count: int) -> list[str]:
    return ["assistant" if n % 2 else "user" for n in range(count)]


def _description() -> dict[str, object]:
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    one = {
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "images": "images"},
        "tags": {**tags, "system_tag": "system"},
    }
    return {name: {"file_name": f"{name}.jsonl", **one} for name in (TRAIN, VALIDATION)}
