"""The real files of the sources, where they are: each imports whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from webgym.tasks.duplicates import Deduplicator
from webgym.tasks.sources import Intake, read_seeds
from webgym.tasks.sources.mind2web2 import read_checks
from webgym.tasks.sources.travelplanner import read_topics
from webgym.tasks.sources.webvoyager import read_answers

REAL = Path(__file__).parents[3].parent / "shared/data/tasks"
REAL_FILES = [
    ("agentsynth-web", "AgentSynth/summarized_task_sequences.jsonl", 61),
    ("agentsynth-web", "AgentSynth/task_sequences.jsonl", 194),
    ("travelplanner", "TravelPlanner/train_queries_45.jsonl", 45),
    ("mind2web-live", "Mind2Web-Live/data_left_82_0328.json", 82),
    ("mind2web-live", "Mind2Web-Live/example_130.json", 130),
    ("mind2web-live", "Mind2Web-Live/group1_20240326.json", 107),
    ("mind2web-live", "Mind2Web-Live/group2_20240326.json", 112),
    ("mind2web-live", "Mind2Web-Live/group_sample_all_data_0327.json", 48),
    ("mind2web-live", "Mind2Web-Live/mind2web-live_test_20241024.json", 104),
    ("mind2web-live", "Mind2Web-Live/mind2web-test_104tasks_20240528.json", 104),
    ("online-mind2web", "Online-Mind2Web/Online_Mind2Web_06042025.json", 300),
    ("mind2web-2", "Mind2Web-2/task_examples.json", 10),
    ("webvoyager", "WebVoyager/WebVoyager_data.jsonl", 643),
    ("pae-webvoyager", "WebVoyager/WebVoyager_data.jsonl", 643),
    ("webvoyager", "WebVoyager/WebVoyager_data_08312025_fara.jsonl", 595),
    ("webarena", "WebArena/test.raw.json", 812),
    ("webarena", "WebArena/webarena-verified.json", 812),
    ("webarena", "WebArena/test_webarena_lite.raw.json", 165),
    ("visualwebarena", "VisualWebArena/test_classifieds.raw.json", 234),
    ("visualwebarena", "VisualWebArena/test_reddit.raw.json", 210),
    ("visualwebarena", "VisualWebArena/test_shopping.raw.json", 466),
    ("mind2web", "Mind2Web/mind2web_raw.json", 1_009),
    ("nnetnav", "NNetNav/NNetNav_OW_Dec24_configs.json", 6_835),
    ("nnetnav", "NNetNav/NNetNav6k_configs.json", 6_051),
]
here = pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not here")


@here
@pytest.mark.parametrize(("name", "file", "count"), REAL_FILES)
def test_a_real_file_imports_whole(name: str, file: str, count: int) -> None:
    report = Intake()
    seeds = list(read_seeds(name, REAL / file, report))
    assert (len(seeds), report.broken) == (count, 0)
    if name not in ("nnetnav",):
        assert len({seed.id for seed in seeds}) == count


@here
def test_companions_of_the_real_files_are_read_whole() -> None:
    assert len(read_answers(REAL / "WebVoyager/reference_answer.json")) == 643
    assert len(read_topics(REAL / "TravelPlanner/train_ref_info.jsonl")) == 45
    trees = sorted((REAL / "Mind2Web-2").glob("*_rubric.json"))
    assert [len(read_checks(path)) > 4 for path in trees] == [True] * 5


@here
def test_the_overlapping_files_of_mind2web_live_hold_327_tasks() -> None:
    seeds = (
        seed
        for path in sorted((REAL / "Mind2Web-Live").glob("*.json"))
        for seed in read_seeds("mind2web-live", path, Intake())
    )
    filter_ = Deduplicator(threshold=1)
    kept = list(filter_.unique(seeds))
    assert len({seed.instruction for seed in kept}) + filter_.counts.exact == 327
