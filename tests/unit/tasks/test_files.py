"""Task files: what is written comes back, filters agree with plain Python, files appear whole or not at all."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webgym.errors import ConfigError
from webgym.tasks import files
from webgym.tasks.files import ParquetWriter, TaskFile, read_tasks, write_tasks
from webgym.tasks.rows import BrokenRow
from webgym.tasks.selection import TaskFilter
from webgym.tasks.taxonomy import DOMAIN_OF
from webgym.types import FactGroup, Provenance, Task

FILTERS = (
    TaskFilter(sources=("a",)),
    TaskFilter(sources=("a", "b"), split="train"),
    TaskFilter(domains=("Entertainment",)),
    TaskFilter(subdomains=("Music", "News")),
    TaskFilter(websites=("shop1.example",)),
    TaskFilter(websites=("http://www.shop2.example",), band="medium"),
    TaskFilter(min_difficulty=2, max_difficulty=5),
    TaskFilter(band="hard"),
    TaskFilter(ids=("t3", "t30", "nobody")),
    TaskFilter(contains="FIND 1"),
    TaskFilter(contains="find 1", sources=("b",), band="easy"),
    TaskFilter(),
)


def make_tasks(count: int, seed: int = 1) -> list[Task]:
    draw = random.Random(seed)
    tasks = []
    for n in range(count):
        subdomain = draw.choice(sorted(DOMAIN_OF))
        groups = tuple(
            FactGroup(id=g, description=f"group {g}", facts=tuple(f"fact {n}.{g}.{f} é" for f in range(draw.randint(1, 4))))
            for g in range(1, draw.randint(2, 4))
        )
        tasks.append(
            Task(
                id=f"t{n}",
                source=draw.choice("abc"),
                instruction=f"Find {n} things",
                website=f"https://{draw.choice(['', 'www.'])}shop{n % 7}.example",
                domain=DOMAIN_OF[subdomain],
                subdomain=subdomain,
                groups=groups,
                reference_answer=draw.choice([None, "42"]),
                parent_id=draw.choice([None, "t0"]),
                split=draw.choice(["train", "test"]),
                provenance=Provenance(file="f.jsonl", line=draw.choice([None, n]), licence="MIT", rubric_model="m"),
            )
        )
    return tasks


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several row groups without many tasks."""
    monkeypatch.setattr(files, "ROW_GROUP", 16)


def test_tasks_come_back_from_parquet_as_they_were(tmp_path: Path, small_groups: None) -> None:
    tasks = make_tasks(100)
    assert write_tasks(tmp_path / "t.parquet", tasks) == 100
    with TaskFile.open(tmp_path / "t.parquet") as file:
        assert len(file) == 100
        assert list(file) == tasks
        assert file.get("t57") == tasks[57]
        assert file.get("nobody") is None


def test_tasks_without_groups_and_files_without_tasks_come_back(tmp_path: Path) -> None:
    bare = Task(id="x", source="s", instruction="Do it", website="", domain="", subdomain="", groups=())
    write_tasks(tmp_path / "bare.parquet", [bare])
    write_tasks(tmp_path / "empty.parquet", [])
    assert list(read_tasks(tmp_path / "bare.parquet")) == [bare]
    assert list(read_tasks(tmp_path / "empty.parquet")) == []
    with TaskFile.open(tmp_path / "empty.parquet") as file:
        assert len(file.where(TaskFilter(contains="x", band="easy"))) == 0
        assert file.sample(3, seed=1) == []


@pytest.mark.parametrize("chosen", FILTERS, ids=str)
def test_a_filter_on_columns_agrees_with_the_filter_on_tasks(tmp_path: Path, small_groups: None, chosen: TaskFilter) -> None:
    tasks = make_tasks(100)
    write_tasks(tmp_path / "t.parquet", tasks)
    with TaskFile.open(tmp_path / "t.parquet") as file:
        found = file.where(chosen)
        expected = [task for task in tasks if chosen.matches(task)]
        assert list(found) == expected
        assert len(found) == len(expected)


def test_a_filter_narrows_a_filtered_file(tmp_path: Path, small_groups: None) -> None:
    tasks = make_tasks(100)
    write_tasks(tmp_path / "t.parquet", tasks)
    with TaskFile.open(tmp_path / "t.parquet") as file:
        found = file.where(TaskFilter(sources=("a",))).where(TaskFilter(split="test"))
        assert list(found) == [task for task in tasks if task.source == "a" and task.split == "test"]
        assert all(task.source == "a" for task in found.sample(5, seed=3))


def test_the_same_seed_draws_the_same_tasks(tmp_path: Path, small_groups: None) -> None:
    write_tasks(tmp_path / "t.parquet", make_tasks(100))
    with TaskFile.open(tmp_path / "t.parquet") as file:
        first, second, other = file.sample(10, seed=7), file.sample(10, seed=7), file.sample(10, seed=8)
    assert first == second != other
    assert len({task.id for task in first}) == 10


def test_the_same_tasks_give_the_same_bytes(tmp_path: Path, small_groups: None) -> None:
    tasks = make_tasks(70)
    write_tasks(tmp_path / "one.parquet", tasks)
    with ParquetWriter(tmp_path / "two.parquet") as writer:
        for task in tasks:
            writer.add(task)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, name: str) -> None:
    write_tasks(tmp_path / name, make_tasks(3))
    before = (tmp_path / name).read_bytes()

    def broken():
        yield make_tasks(1)[0]
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        write_tasks(tmp_path / name, broken())
    assert (tmp_path / name).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_jsonl_carries_the_public_record_there_and_back(tmp_path: Path) -> None:
    tasks = [task.model_copy(update={"parent_id": None}) for task in make_tasks(20) if task.split == "train"]
    write_tasks(tmp_path / "train.jsonl", tasks)
    back = [task for task in read_tasks(tmp_path / "train.jsonl") if isinstance(task, Task)]
    assert [task.model_copy(update={"provenance": Provenance()}) for task in back] == [
        task.model_copy(update={"provenance": Provenance()}) for task in tasks
    ]
    record = json.loads((tmp_path / "train.jsonl").read_text().splitlines()[0])
    assert record["difficulty"] == tasks[0].difficulty


def test_broken_lines_of_a_jsonl_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    write_tasks(path, make_tasks(2))
    path.write_text("{oops\n" + path.read_text() + '{"task_id": 1}\n')
    rows = list(read_tasks(path))
    assert [(row.line if isinstance(row, BrokenRow) else row.split) for row in rows] == [1, "test", "test", 4]


def test_foreign_and_future_files_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_text("hello")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    later = pa.table({"a": [1]}).replace_schema_metadata({"webgym.tasks.version": "99"})
    pq.write_table(later, tmp_path / "later.parquet")
    for name, said in {"no": "not a Parquet", "other": "no tasks", "later": "version 99", "absent": "no such"}.items():
        with pytest.raises(ConfigError, match=said):
            TaskFile.open(tmp_path / f"{name}.parquet")
    with pytest.raises(ConfigError, match="parquet or"):
        write_tasks(tmp_path / "x.txt", [])


words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
groups = st.lists(
    st.builds(FactGroup, id=st.integers(-5, 5), description=words, facts=st.lists(words, min_size=1, max_size=4)), max_size=4
)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(words, groups, st.none() | words), max_size=12))
def test_any_text_survives_parquet(tmp_path_factory: pytest.TempPathFactory, rows) -> None:
    tasks = [
        Task(
            id=f"{n}",
            source="s",
            instruction=text,
            website="",
            domain=text,
            subdomain="",
            groups=tuple(facts),
            reference_answer=answer,
        )
        for n, (text, facts, answer) in enumerate(rows)
    ]
    path = tmp_path_factory.mktemp("any") / "t.parquet"
    write_tasks(path, tasks)
    assert list(read_tasks(path)) == tasks


def test_a_filter_waits_for_no_import(tmp_path: Path) -> None:
    """Arrow imports pandas for its conversions, where it is installed: a third of a second for the first filter."""
    write_tasks(tmp_path / "tasks.parquet", make_tasks(3))
    program = (
        "import sys; from pathlib import Path; from webgym.tasks.files import TaskFile\n"
        "from webgym.tasks.selection import TaskFilter\n"
        "wanted = TaskFilter(sources=('nobody', 'nöbody'), domains=('Misc.',), band='hard', split='train', contains='x')\n"
        "with TaskFile.open(Path(sys.argv[1])) as file: print(len(file.where(wanted)), 'pandas' in sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "tasks.parquet")], capture_output=True, text=True, check=True
    )
    assert said.stdout == "0 False\n"
