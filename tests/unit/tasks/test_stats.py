"""Counting, showing and validating task files, through the commands a person runs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from webgym.errors import ConfigError
from webgym.tasks.columns import SCHEMA
from webgym.tasks.commands import run_show, run_stats, run_validate
from webgym.tasks.files import write_tasks
from webgym.tasks.record import to_record
from webgym.tasks.stats import count_tasks, glances
from webgym.types import FactGroup, Task


def task(name: str, facts: int = 2, **more: object) -> Task:
    return Task.model_validate(
        {
            "id": name,
            "source": "InSTA-v3",
            "instruction": f"Find [the] thing {name}",
            "website": f"https://{name}.example",
            "domain": "Entertainment",
            "subdomain": "Music",
            "groups": (FactGroup(id=1, description="d", facts=tuple(f"fact {n}" for n in range(facts))),),
            **more,
        }
    )


GOOD = [
    task("a", 1),
    task("b", 4, source="BrowseComp", website="https://www.a.example"),
    task("c", 12, parent_id="a", domain="Misc.", subdomain="News"),
    task("d", 3, split="test"),
]


@pytest.fixture(params=["tasks.parquet", "tasks.jsonl"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / request.param
    write_tasks(path, GOOD)
    return path


def test_tasks_without_a_website_are_on_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tasks.parquet"
    write_tasks(path, [task("a"), task("b", website=""), task("c", website="")])
    stats = count_tasks(glances(path))
    assert (stats.sites, stats.nowhere) == ({"a.example": 1}, 2)
    assert run_stats([str(path)]) == 0
    said = capsys.readouterr().out
    assert "3 tasks on 1 websites" in said
    assert "2 of them name no website" in said


def test_tasks_are_counted_by_source_difficulty_domain_and_site(file: Path) -> None:
    stats = count_tasks(glances(file))
    assert stats.tasks == 4
    assert stats.by_source() == [("InSTA-v3", 3), ("BrowseComp", 1)]
    assert stats.by_domain() == [("Entertainment", 3), ("Misc.", 1)]
    assert {name: count for name, count in stats.histogram().items() if count} == {"1": 1, "3": 1, "4": 1, "10+": 1}
    assert stats.sites == {"a.example": 2, "c.example": 1, "d.example": 1}
    if file.suffix == ".parquet":
        assert (stats.children, stats.splits["test"], stats.bands["train", "hard"]) == (1, 1, 1)


def test_stats_prints_tables_and_draws_a_chart(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_stats([str(file), "--plot", str(tmp_path / "chart.svg")]) == 0
    said = capsys.readouterr().out
    assert "4 tasks on 3 websites" in said
    assert "BrowseComp" in said
    chart = ElementTree.fromstring((tmp_path / "chart.svg").read_text())
    assert {"By source", "BrowseComp", "10+"} <= {text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")}


def test_show_prints_one_task_or_those_that_pass(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_show([str(file), "c"]) == 0
    whole = capsys.readouterr().out
    assert "Find [the] thing c" in whole
    assert "fact 11" in whole
    assert run_show([str(file), "--website", "a.example", "--source", "InSTA-v3", "--source", "BrowseComp"]) == 0
    listed = capsys.readouterr().out
    assert "thing a" in " ".join(listed.split())
    assert "c.example" not in listed
    assert run_show([str(file), "--limit", "1", "--seed", "3", "--full"]) == 0
    assert "1 of 4 tasks" in capsys.readouterr().out
    assert run_show([str(file), "nobody"]) == 1


def test_a_good_file_is_valid(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_validate([str(file)]) == 0
    assert capsys.readouterr().out == "4 tasks, no breach\n"


def spoiled(**changes: object) -> dict[str, object]:
    return {**to_record(task("x")), **changes}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (spoiled(difficulty=5), "difficulty 5 but 2 facts"),
        (spoiled(difficulty="2"), "difficulty '2' but 2 facts"),
        (spoiled(domain="Weather"), "no domain 'Weather'"),
        (spoiled(subdomain="News"), "belongs to 'Misc.'"),
        (spoiled(evaluator_reference=[{"id": 1, "description": "", "facts": ["x", " X "]}]), "fact 2 repeats fact 1"),
        (spoiled(evaluator_reference=[{"id": 1, "description": "", "facts": ["x", " "]}]), "fact 2 is empty"),
        (spoiled(evaluator_reference=[], difficulty=0), "no facts"),
        (spoiled(website="Example.com/x"), "'https://example.com' is"),
        (spoiled(task_id="a"), "id 'a' is already at tasks.jsonl:1"),
        (spoiled(task_name=""), "no text in 'task_name'"),
        ({"task_id": "x", "benchmark_name": "b", "task_name": "Find"}, "without domain, subdomain"),
        ([], "must be an object"),
    ],
)
def test_every_rule_has_its_breach_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record: object, said: str
) -> None:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, GOOD)
    path.write_text(f"{path.read_text()}{json.dumps(record)}\n")
    assert run_validate([str(path)]) == 1
    breaches = capsys.readouterr().out
    assert said in breaches
    assert "tasks.jsonl:5: " in breaches


def test_a_test_site_with_a_train_task_is_a_leak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [task("a"), task("b", split="test", website="http://www.a.example")]
    write_tasks(tmp_path / "both.parquet", both)
    assert run_validate([str(tmp_path / "both.parquet")]) == 1
    assert "both.parquet:2: a test task on a.example, which has a train task at both.parquet:1" in capsys.readouterr().out
    write_tasks(tmp_path / "train.jsonl", both[:1])
    write_tasks(tmp_path / "test.jsonl", both[1:])
    assert run_validate([str(tmp_path / "train.jsonl")]) == 0
    assert run_validate([str(tmp_path / "train.jsonl"), str(tmp_path / "test.jsonl")]) == 1
    assert "test.jsonl:1: a test task on a.example" in capsys.readouterr().out


def test_a_parquet_file_that_lies_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.parquet"
    write_tasks(path, GOOD)
    rows = pq.read_table(path).to_pylist()
    rows[1]["difficulty"], rows[2]["split"] = 9, "holdout"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
    assert run_validate([str(path)]) == 1
    said = capsys.readouterr().out
    assert "t.parquet:2: difficulty 9 but 4 facts" in said
    assert "t.parquet:3: split" in said


def test_only_so_many_breaches_are_printed_and_all_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("oops\n" * 9)
    assert run_validate([str(path), "--limit", "2"]) == 1
    assert capsys.readouterr().out.splitlines()[2:] == ["and 7 more", "9 tasks, 9 breaches"]


def test_a_file_that_is_not_there_is_named() -> None:
    for run in (run_stats, run_show, run_validate):
        with pytest.raises(ConfigError, match=r"absent\.parquet"):
            run(["absent.parquet"])
