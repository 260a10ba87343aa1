"""Episode files: what is written is read, or it is called damaged; other tools see a useful table."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.unit.store.making import make_episode, make_task
from webgym.errors import Damaged, NewerVersion
from webgym.store import Run, episodes
from webgym.store.episodes import decode, encode, images_of
from webgym.types import Action, Episode, Outcome

HERE = Path("e.parquet")

numbers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
words = st.text(max_size=30)
maybe_words = st.none() | words
actions = st.sampled_from(
    [
        {"kind": "click", "x": 1.5, "y": 0.1, "modifiers": ["Shift"]},
        {"kind": "type", "element": 4, "text": "ü\n\x00", "enter": True},
        {"kind": "key", "keys": ["Control+A"]},
        {"kind": "scroll", "dy": -3.25},
        {"kind": "close_tab"},
        {"kind": "answer", "text": ""},
        {"kind": "terminate", "status": "failure"},
    ]
).map(TypeAdapter(Action).validate_python)
parts = st.fixed_dictionaries({"kind": st.just("text"), "text": words}) | st.fixed_dictionaries(
    {"kind": st.just("image"), "sha256": hashes}
)
turns = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "parts": st.lists(parts, max_size=3)}
)
replies = st.fixed_dictionaries(
    {
        "text": words,
        "model": words,
        "finish": words,
        "prompt_tokens": numbers,
        "completion_tokens": numbers,
        "seconds": floats,
        "prompt_token_ids": st.none() | st.lists(numbers, max_size=4),
        "token_ids": st.none() | st.lists(numbers, max_size=4),
        "logprobs": st.none() | st.lists(floats, max_size=4),
        "rebuilt": st.booleans(),
    }
)
done = st.one_of(
    st.fixed_dictionaries({"action": actions, "invalid": st.none()}),
    st.fixed_dictionaries({"action": st.none(), "invalid": words}),
)
steps = st.builds(
    lambda one, rest: {**one, **rest},
    done,
    st.fixed_dictionaries(
        {
            "index": st.integers(0, 2**40),
            "screenshot": st.none() | hashes,
            "url": words,
            "title": words,
            "visible": maybe_words,
            "prompt": st.lists(turns, max_size=3),
            "reply": st.none() | replies,
            "error": maybe_words,
            "unchanged": st.booleans(),
            "seconds": floats,
        }
    ),
)
outcomes = st.sampled_from(
    [
        {"kind": "answered"},
        {"kind": "step_limit", "limit": 3},
        {"kind": "blocked", "reason": "é"},
        {"kind": "infra", "reason": ""},
    ]
).map(TypeAdapter(Outcome).validate_python)
whole = st.fixed_dictionaries(
    {
        "id": st.just("ab" * 16),
        "run": words,
        "iteration": st.integers(0, 2**40),
        "replica": st.integers(0, 9),
        "attempt": st.integers(0, 9),
        "task": st.just(make_task()),
        "agent": words,
        "width": numbers,
        "height": numbers,
        "steps": st.lists(steps, max_size=3),
        "final_screenshot": st.none() | hashes,
        "final_url": words,
        "final_visible": maybe_words,
        "answer": maybe_words,
        "state": st.dictionaries(words, words, max_size=2),
        "outcome": outcomes,
        "started": floats,
        "ended": floats,
    }
).map(Episode.model_validate)


@given(whole)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_episode_comes_back_as_it_was(episode: Episode):
    assert decode(encode(episode), HERE) == episode


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    with Run.create(tmp_path / "run") as run:
        return make_episode(run, 1, steps=4)


def test_no_flipped_bit_changes_an_episode_unnoticed(episode: Episode):
    data, draw = encode(episode), random.Random(7)
    damaged = 0
    for _ in range(600):
        bad = bytearray(data)
        bad[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        try:
            assert decode(bytes(bad), HERE) == episode  # some bytes of a Parquet file mean nothing
        except Damaged:
            damaged += 1
    assert damaged > 400


def test_no_truncated_file_is_an_episode(episode: Episode):
    data = encode(episode)
    for length in (*range(0, len(data), 97), len(data) - 1):
        with pytest.raises(Damaged):
            decode(data[:length], HERE)


def test_an_episode_of_the_first_version_is_still_read(tmp_path: Path):
    path = Path(__file__).parent / "version1" / "episode.parquet"
    with Run.create(tmp_path / "run") as run:
        assert decode(path.read_bytes(), path).steps == make_episode(run, 1, steps=2).steps


def test_a_file_whose_columns_are_not_those_of_its_version_is_damaged(episode: Episode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(episodes, "VERSION", 1)
    with pytest.raises(Damaged, match="other columns than an episode of version 1"):
        decode(encode(episode), HERE)


def test_a_file_of_a_later_version_says_so_and_is_not_called_damaged(episode: Episode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(episodes, "VERSION", 7)
    data = encode(episode)
    monkeypatch.setattr(episodes, "VERSION", 1)
    with pytest.raises(NewerVersion, match="version 7; this reads up to 1"):
        decode(data, HERE)


def test_another_parquet_file_is_no_episode():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), sink)
    with pytest.raises(Damaged):
        decode(sink.getvalue().to_pybytes(), HERE)


def test_arrow_sees_a_row_a_step_with_typed_columns(episode: Episode, tmp_path: Path):
    (tmp_path / "e.parquet").write_bytes(encode(episode))
    table = pq.read_table(tmp_path / "e.parquet")
    assert table.num_rows == 4
    assert table.column("outcome").to_pylist() == ["answered"] * 4
    assert table.column("task").to_pylist() == ["task-1"] * 4
    assert table.column("action").to_pylist() == ["click", "click", "click", "answer"]
    assert json.loads(table.column("arguments")[0].as_py())["x"] == 10.5
    shots = table.column("screenshot").to_pylist()
    assert table.column("next_screenshot").to_pylist() == [*shots[1:], episode.final_screenshot]
    assert pa.types.is_list(table.schema.field("prompt").type)
    assert table.column("prompt")[0].as_py()[1]["parts"][1]["sha256"] == shots[0]


def test_an_episode_without_steps_has_a_row_for_those_who_refuse_empty_files(episode: Episode):
    bare = episode.model_copy(update={"steps": ()})
    table = pq.read_table(pa.BufferReader(encode(bare)))
    assert table.select(["task", "steps", "step"]).to_pylist() == [{"task": "task-1", "steps": 0, "step": None}]
    assert decode(encode(bare), HERE) == bare


def test_hugging_face_datasets_loads_a_folder(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    with Run.create(tmp_path / "run") as run:
        run.plan(0, ["task-0", "task-1"])
        assert run.commit(make_episode(run, 0))
        assert run.commit(make_episode(run, 1, steps=0))
    found = datasets.load_dataset(
        "parquet", data_files=str(run.path / "episodes/**/*.parquet"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert len(found) == 4
    assert set(found["task"]) == {"task-0", "task-1"}


def test_every_image_an_episode_refers_to_is_found(episode: Episode):
    assert len(images_of(episode)) == 5


def test_what_can_be_long_is_compressed(episode: Episode):
    group = pq.ParquetFile(pa.BufferReader(encode(episode))).metadata.row_group(0)
    columns = [group.column(n) for n in range(group.num_columns)]
    assert {one.path_in_schema for one in columns if one.compression == "LZ4"} == set(episodes._LONG)
