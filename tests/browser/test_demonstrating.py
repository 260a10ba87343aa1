"""Demonstrations in real browsers: what a model is shown is what happened, and every kind of site can be shown."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.oracle import Played, prove
from webgym.config import load
from webgym.demonstrating.settings import WarmUpSettings
from webgym.demonstrating.warming import demonstrate, write_families
from webgym.store import Run
from webgym.store.samples import read_samples
from webgym.types import Scored
from webgym.worlds import tasks
from webgym.worlds.families import opening
from webgym.worlds.sites import KINDS

CONFIG = Path(__file__).parents[2] / "configs" / "proof-warm-up.yaml"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.timeout(300)
async def test_the_guide_opens_a_page_of_every_kind_of_site_on_a_tiny_screen(tmp_path):
    given = {
        "--demonstrations": len(KINDS),
        "--worlds.port": free_port(),
        "--practice.train-sites": 1,
        "--practice.shown": 0,
    }
    words = [str(word) for pair in given.items() for word in pair]
    settings = load(WarmUpSettings, ["--config", str(CONFIG), "--folder", str(tmp_path), *words], command="test")
    settings = settings.model_copy(update={"kinds": tuple(KINDS)})
    shown, samples = tmp_path / "shown.parquet", tmp_path / "samples.parquet"
    write_families(settings, shown)
    await demonstrate(settings, shown, samples, Console(quiet=True))
    with Run.open(tmp_path / "demonstrations", read_only=True) as run:
        verdicts = [judgement.verdict for judgement in run.judgements()]
        steps = {(episode.id, step.index): step for episode in run.episodes() for step in episode.steps}
    assert len(verdicts) == len(KINDS)
    assert all(isinstance(verdict, Scored) and verdict.reward for verdict in verdicts)
    for sample in read_samples(samples):
        step = steps[sample.episode, sample.step]
        assert (sample.prompt, sample.reply) == (step.prompt, step.reply)
        assert [part.kind for part in sample.prompt[-1].parts] == ["text", "image"]


@pytest.mark.timeout(120)
async def test_the_oracle_opens_pages_on_a_large_screen_and_whoever_does_nothing_fails():
    played: list[Played] = []
    wanted = [tasks.find(task.id) for task in opening(0, "test", 1, ["bank", "league", "news", "shop"], port=8090)]
    await prove(wanted, 2, played.append)
    judged = [one for one in played if one.agent != "wrong_answer"]  # any answer will do, so there is no wrong one
    assert len(judged) == 8
    assert not [one for one in judged if not one.right]
