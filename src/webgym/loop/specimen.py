"""A batch made without a rollout: the longest ordinary prompt, by the agent's own code, through the trainer's own code.

The pages are blank and the replies short, but system prompt, rounds, images and tokens are what a rollout would send, so a
checkpoint's processor that cannot digest them is found out before the first browser starts. Needs the train extra and the
checkpoint's small files; its weights are not read.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path

from webgym.agents.context import Context, Round, describe_page, take
from webgym.agents.dialects import Screen
from webgym.agents.model import ModelAgents
from webgym.agents.policy import Policy
from webgym.errors import ConfigError
from webgym.loop.settings import LoopSettings
from webgym.store.files import Disk
from webgym.store.images import Images
from webgym.store.samples import Sample, read_samples
from webgym.types import Answer, Observation, Reply, Screenshot, ScrollPosition, Settled, Wait

WEBSITE = "https://specimen.example"
TASK = "Find out when the museum opens on Sundays and what a ticket for two adults and a child costs."


@dataclass(frozen=True)
class Built:
    """What a batch came to."""

    told: str
    over: int  # samples of it that are longer than training takes


def build_batch(settings: LoopSettings, samples: Path | None) -> Built:
    """One batch of a run's samples, or of specimens."""
    from webgym.train.batches import Collator
    from webgym.train.encoding import Encoder, ImageFolders, load_processor

    chosen = settings.train
    assert settings.checkpoint is not None
    processor = load_processor(settings.checkpoint, min_pixels=chosen.min_pixels, max_pixels=chosen.max_pixels)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        images = Images(folder, Disk(folder))
        own = _specimens(settings, images, chosen.batch)
        given = islice(read_samples(samples), chosen.batch) if samples is not None else own
        folders = ImageFolders((settings.run.absolute() / "images" if samples is not None else folder,))
        encoder = Encoder(processor, folders)
        rows = [row for sample in given if (row := encoder.encode(sample)) is not None]
        if not rows:
            raise ConfigError(f"the first samples of {samples} cannot be trained on")
        batch = Collator(processor, folders).collate(rows)
    learned, width = int(batch.learned.sum()), tuple(batch.inputs["input_ids"].shape)[1]
    made = f"of {samples}" if samples is not None else "made for this"
    over = sum(len(row) > chosen.max_tokens for row in rows)
    long = f"; {over} LONGER than train.max_tokens" if over else ""
    told = f"{len(rows)} samples {made}, {width:,} tokens wide, {batch.tokens:,} tokens, {learned:,} learned from{long}"
    return Built(told, over)


def _specimens(settings: LoopSettings, images: Images, count: int) -> Iterator[Sample]:
    for number in range(count):
        yield _specimen(settings, images, number)


def _specimen(settings: LoopSettings, images: Images, number: int) -> Sample:
    """A step in the middle of an episode: every round that the context keeps in full is there."""
    session, agent = settings.engine.session, settings.model
    screen = Screen(session.width, session.height)
    speaker = ModelAgents(Policy(agent.policy), agent).dialect
    context = Context(TASK, WEBSITE, agent.context)
    for round_ in range(agent.context.window + 2):
        seen = _page(session.width, session.height, shade=16 * round_ + number)
        shot = take(seen, agent.context.image_tokens)
        assert shot is not None
        assert seen.screenshot is not None
        images.put(seen.screenshot.data, seen.screenshot.format)
        prompt = context.prompt(speaker.system(screen), seen, shot)
        said = speaker.write(Wait(seconds=1.0), screen)
        context.keep(
            Round(round_ + 1, seen.title, describe_page(seen), said, "wait", "page changed", "The action was done."), shot
        )
    reply = Reply(text=speaker.write(Answer(text="It opens at ten."), screen))
    name = hashlib.sha256(str(number).encode()).hexdigest()[:32]
    return Sample(episode=name, step=0, task="specimen", website=WEBSITE, iteration=0, prompt=prompt.turns, reply=reply)


def _page(width: int, height: int, *, shade: int) -> Observation:
    from PIL import Image

    picture = BytesIO()
    Image.new("RGB", (width, height), (shade % 256, 200, 220)).save(picture, "JPEG", quality=80)
    data = picture.getvalue()
    shot = Screenshot(format="jpeg", width=width, height=height, sha256=hashlib.sha256(data).hexdigest(), data=data)
    return Observation(
        screenshot=shot,
        unchanged=False,
        url=f"{WEBSITE}/visit",
        title="Opening hours and prices",
        scroll=ScrollPosition(x=0, y=0, width=width, height=height),
        tabs=(),
        settled=Settled(ms=0),
    )
