"""Sources: rows written here in each one's format become seeds, and broken ones are told. Real files: test_sources_real."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import sys
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from webgym.errors import ConfigError, Unreachable
from webgym.tasks.seed import Seed
from webgym.tasks.sources import SOURCES, BrokenRow, Intake, find, read_seeds, read_source
from webgym.tasks.sources.hub import HubName, read_hub
from webgym.tasks.sources.webarena import WebArena

TEN = (
    "InSTA-v3",
    "PAE-WebVoyager",
    "AgentSynth-Web",
    "BrowseComp",
    "TravelPlanner",
    "Mind2Web-Live",
    "Online-Mind2Web",
    "DeepShop",
    "Mind2Web-2",
    "GAIA-Web",
)

# One row in each source's format, and what must come of it: website, and how many hints.
ROWS: dict[str, tuple[object, str, int]] = {
    "insta-v3": (
        {"website": "zoo.example", "instruction": "Find the zoo's hours", "steps": ["open"], "criteria": ["a", "b"]},
        "https://zoo.example",
        3,
    ),
    "pae-webvoyager": (
        {"web_name": "Shop", "id": "Shop--0", "ques": "Find a red lamp", "web": "https://www.shop.example/"},
        "https://www.shop.example",
        0,
    ),
    "agentsynth-web": (
        {"website": "bank.example", "task": "Find the opening hours", "action_sequence": [], "thoughts_sequence": []},
        "https://bank.example",
        0,
    ),
    "travelplanner": ({"id": "t-0", "query": "Plan three days in Lyon", "local_constraint": {"cuisine": "French"}}, "", 1),
    "mind2web-live": (
        {
            "index": 0,
            "task": "Find a game",
            "reference_task_length": 2,
            "evaluation": [
                {
                    "match_function_name": "url_included_match",
                    "content": {"key": "", "reference_answer": "games.", "url": "https://www.games.example/"},
                },
                {
                    "match_function_name": "element_path_exactly_match",
                    "content": {"reference_answer": ".a >b", "url": "https://www.games.example/x"},
                },
            ],
        },
        "https://www.games.example",
        1,
    ),
    "online-mind2web": (
        {"task_id": "ab", "confirmed_task": "Find a store", "website": "https://store.example/", "level": "easy"},
        "https://store.example",
        0,
    ),
    "deepshop": (
        {
            "web_name": "S",
            "id": "S--1",
            "ques": "Find a blue kettle",
            "web": "https://s.example/kettles",
            "attribute": "blue",
            "filter": ["under 50"],
            "sort": "",
            "category": "Home",
            "difficulty": "easy",
        },
        "https://s.example",
        3,
    ),
    "mind2web-2": ({"task_id": "x", "task_description": "Find two concerts"}, "", 0),
    "gaia-web": (
        {"task_id": "g", "Level": 1, "Final answer": "17", "id": 0, "web": "https://search.example/", "ques": "How many?"},
        "https://search.example",
        0,
    ),
    "webvoyager": (
        {"web_name": "Maps", "id": "Maps--0", "ques": "Find a park", "web": "https://www.maps.example/maps/"},
        "https://www.maps.example",
        1,
    ),
    "webarena": (
        {
            "sites": ["shopping"],
            "task_id": 3,
            "start_url": "__SHOPPING__/a |AND| __REDDIT__",
            "intent": "Find a lamp",
            "eval": {"reference_answers": {"must_include": ["one", "two"]}},
        },
        "http://shopping.webarena.localhost",
        2,
    ),
    "visualwebarena": (
        {
            "sites": ["reddit"],
            "task_id": 0,
            "start_url": "__REDDIT__",
            "intent": "Find this",
            "image": ["a.png"],
            "eval": {},
        },
        "http://reddit.webarena.localhost",
        1,
    ),
    "mind2web": (
        {"website": "united", "task": "Find a flight", "actions": [["CLICK", "[a]", "Go"], ["TYPE: x", "[b]", ""]]},
        "https://united.com",
        2,
    ),
    "nnetnav": ({"start_url": "https://paper.example/", "goal": "Find a paper"}, "https://paper.example", 0),
    "webgym": (
        {
            "benchmark_name": "InSTA-v3",
            "task_name": "Find it",
            "website": "x.example",
            "evaluator_reference": ["seen"],
            "task_id": 1,
        },
        "https://x.example",
        0,
    ),
    "offline-web": (
        {
            "benchmark_name": "worlds",
            "task_name": "Find it",
            "website": "http://x.localhost:8090",
            "evaluator_reference": [{"id": 1, "description": "It", "facts": ["seen"]}],
            "task_id": "worlds-1",
        },
        "http://x.localhost:8090",
        0,
    ),
}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def only(rows: object) -> Seed:
    [found] = list(rows)
    assert isinstance(found, Seed), found
    return found


def encrypted(text: str, password: str) -> str:
    key = hashlib.sha256(password.encode()).digest()
    return base64.b64encode(bytes(a ^ b for a, b in zip(text.encode(), cycle(key), strict=False))).decode()


def test_all_sources_of_the_paper_are_here() -> None:
    assert all(find(name) is not None for name in TEN)
    assert {name for name, source in SOURCES.items() if source.evaluation_only} == {
        "online-mind2web",
        "webvoyager",
        "webarena",
        "visualwebarena",
    }
    assert {name for name, source in SOURCES.items() if source.confidential} == {"browsecomp", "gaia-web"}
    assert set(SOURCES) == {*ROWS, "browsecomp"}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_each_source_becomes_a_seed(tmp_path: Path, name: str) -> None:
    row, website, hints = ROWS[name]
    suffix = "json" if "jsonl" not in SOURCES[name].formats else "jsonl"
    path = lines(tmp_path / f"rows.{suffix}", row)
    seed = only(read_source(name, path))
    assert (seed.website, len(seed.hints)) == (website, hints)
    assert seed.evaluation_only == SOURCES[name].evaluation_only
    assert seed.confidential == SOURCES[name].confidential
    assert (seed.file, seed.line, seed.licence) == (path.name, 1, SOURCES[name].licence)
    assert seed == only(read_source(name, path))


@pytest.mark.parametrize("name", ROWS)
def test_broken_rows_are_counted_and_skipped(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps(ROWS[name][0])
    path.write_bytes(
        b"\n".join(
            (
                b"{oops",
                good.encode(),
                b"",
                b"7",
                b"{}",
                b"\xff\xfe",
                good.replace("Find", "\\ud800").encode(),
                b"[" * 100_000,
            )
        )
    )
    report = Intake()
    with caplog.at_level(logging.WARNING):
        seeds = list(read_seeds(name, path, report))
    expected = 1 if "Find" in good else 2
    assert (len(seeds), report.read, report.broken) == (expected, expected, 7 - expected)
    assert {row.line for row in report.rows} >= {1, 4, 5, 6, 8}
    assert all(row.file == "rows.jsonl" for row in report.rows)
    assert len(caplog.records) == report.broken


def test_an_array_of_rows_knows_each_rows_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    good = json.dumps(ROWS["nnetnav"][0])
    path.write_text(f"[\n{good},\n\n  7,\n{good}\n]\n")
    rows = list(read_source("nnetnav", path))
    assert [row.line for row in rows] == [2, 4, 5]
    path.write_text(f"[\n{good},\n{{oops}}, {good}]")
    assert [type(row) for row in read_source("nnetnav", path)] == [Seed, BrokenRow]
    for text, reason in {
        "": "neither",
        "[": "lost",
        f"[{good} {good}]": "comma",
        '{"a" 1}': "name",
        "\xff": "UTF-8",
    }.items():
        path.write_bytes(text.encode("latin-1"))
        *_, last = read_source("nnetnav", path)
        assert isinstance(last, BrokenRow)
        assert reason in last.reason


def test_parquet_rows_are_read_and_a_broken_file_is_told(tmp_path: Path) -> None:
    row = ROWS["insta-v3"][0]
    pq.write_table(pa.Table.from_pylist([row, row]), tmp_path / "insta.parquet")
    assert [row.line for row in read_source("insta-v3", tmp_path / "insta.parquet")] == [1, 2]
    (tmp_path / "bad.parquet").write_text("hello")
    assert [type(row) for row in read_source("insta-v3", tmp_path / "bad.parquet")] == [BrokenRow]


def test_browsecomp_decrypts_in_memory_and_tells_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    question, answer, canary = 'Which harbour has, "by far",\nthe oldest crane?', "Hidden harbour", "canary-1"
    wrong = encrypted("Which river is meant?" + "\udcff".encode("utf-8", "surrogatepass").decode("latin-1"), canary)
    rows = [
        ("problem", "answer", "canary"),
        (encrypted(question, canary), encrypted(answer, canary), canary),
        ("not base64!", encrypted(answer, canary), canary),
        (encrypted(question, canary), encrypted(answer, canary), "another canary"),
        (wrong[:-4] + "!!!!", wrong, canary),
        (encrypted(question, canary), "", canary),
    ]
    path = tmp_path / "browsecomp.csv"
    path.write_text("".join(f"{','.join(row)}\n" for row in rows) + "too,few\n")
    report = Intake()
    with caplog.at_level(logging.DEBUG):
        [seed] = read_seeds("BrowseComp", path, report)
    assert (seed.instruction, seed.reference_answer, seed.confidential, seed.line) == (question, answer, True, 2)
    assert [row.line for row in report.rows] == [3, 4, 5, 6, 7]
    said = f"{seed!r} {seed} {report.rows!r} {caplog.text} {seed.id} {seed.model_copy(update={'website': ''})!r}"
    assert not any(word in said for word in ("harbour", "crane", "river"))


def test_companions_beside_the_rows_are_used(tmp_path: Path) -> None:
    row = {"web_name": "Maps", "ques": "Find a park", "web": "https://www.maps.example/"}
    lines(tmp_path / "WebVoyager_data.jsonl", *({**row, "id": f"Maps--{n}"} for n in range(2)))
    changed = lines(tmp_path / "later.jsonl", {"web_name": "Maps", "id": "Maps--1", "ques": "Find two", "web": "m.example"})
    answers = [{"id": 0, "type": "possible", "ans": "Green park"}, {"id": 1, "type": "golden", "ans": "Blue park"}]
    (tmp_path / "reference_answer.json").write_text(json.dumps({"Maps": {"notice": "", "answers": answers}}))
    possible, golden = read_source("webvoyager", tmp_path / "WebVoyager_data.jsonl")
    assert isinstance(possible, Seed)
    assert isinstance(golden, Seed)
    assert "A possible answer: Green park" in possible.hints
    assert (possible.reference_answer, golden.reference_answer) == (None, "Blue park")
    assert only(read_source("webvoyager", changed)).reference_answer is None

    tree = {"id": "root", "desc": "the task", "children": [{"desc": "Park", "children": [{"claim": "has a name"}]}]}
    (tmp_path / "parks_rubric.json").write_text(json.dumps({"eval_breakdown": [{"verification_tree": tree}]}))
    (tmp_path / "bad_rubric.json").write_text("{")
    (tmp_path / "tasks.json").write_text('{"parks": {"task_description": "Find parks", "rubric_path": null}}')
    seed = only(read_source("mind2web-2", tmp_path / "tasks.json"))
    assert (seed.id, seed.hints) == ("mind2web-2/parks", ("Check: Park: has a name",))

    lines(tmp_path / "train_ref_info.jsonl", {"Restaurants in Lyon": []})
    trip = lines(tmp_path / "train_queries.jsonl", {"id": "t", "query": "Plan a trip"})
    assert only(read_source("travelplanner", trip)).hints == ("Needs: Restaurants in Lyon",)


def test_webarenas_placeholders_take_the_addresses_given(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", ROWS["webarena"][0])
    seed = only(WebArena({"SHOPPING": "http://10.0.0.5:7770/"}).read(path))
    assert (seed.website, seed.reference_answer) == ("http://10.0.0.5:7770", "one; two")


def test_webgyms_own_records_keep_groups_and_what_their_benchmark_forbids(tmp_path: Path) -> None:
    record = {
        "task_name": "Find it",
        "evaluator_reference": [{"id": 2, "description": "d", "facts": ["seen"]}],
        "task_id": "a",
    }
    names = ("InSTA-v3", "Online-Mind2Web", "BrowseComp", "Something New")
    rows = [{**record, "benchmark_name": name} for name in names]
    seeds = [seed for seed in read_source("webgym", lines(tmp_path / "train.jsonl", *rows)) if isinstance(seed, Seed)]
    assert [seed.evaluation_only for seed in seeds] == [False, True, False, False]
    assert [seed.confidential for seed in seeds] == [False, False, True, False]
    assert seeds[0].groups[0].facts == ("seen",)
    assert all(seed.whole for seed in seeds), "their children are in the record already"
    bare = only(read_source("webgym", lines(tmp_path / "bare.jsonl", {**rows[0], "evaluator_reference": []})))
    assert not bare.whole, "without a rubric nobody has taken it apart"
    assert "Find it" not in repr(seeds[2])
    assert only(read_source("webgym", lines(tmp_path / "test.jsonl", rows[0]))).evaluation_only


def test_wrong_names_and_files_are_the_persons_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no source 'nobody'"):
        read_source("nobody", "x.jsonl")
    with pytest.raises(ConfigError, match="no such file"):
        read_source("nnetnav", tmp_path / "absent.json")
    with pytest.raises(ConfigError, match="expected a file of kind"):
        read_source("browsecomp", tmp_path / "x.txt")
    with pytest.raises(ConfigError, match="names no dataset"):
        read_source("insta-v3", "hf:nothing")


def test_a_dataset_of_the_hub_is_read_like_a_file() -> None:
    asked = []

    def load(name: HubName) -> list[object]:
        asked.append(name)
        return [ROWS["insta-v3"][0], 7]

    rows = list(read_hub(HubName.parse("hf:owner/name@config:test"), load))
    assert asked == [HubName("owner/name", "config", "test")]
    assert (rows[0].file, rows[0].line) == ("hf:owner/name@config:test", 1)
    assert isinstance(rows[1], BrokenRow)

    def offline(name: HubName) -> list[object]:
        raise ConnectionError("no route")

    with pytest.raises(Unreachable, match="Offline"):
        list(read_hub(HubName.parse("hf:owner/name"), offline))


def test_the_hub_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # as if it were not installed
    with pytest.raises(ConfigError, match=r"pip install .open-webgym\[tasks\]"):
        list(read_source("insta-v3", "hf:owner/name"))


def test_the_datasets_package_itself_streams_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a folder of that name in the working directory for the dataset: no hub is needed."""
    folder = tmp_path / "owner" / "name"
    folder.mkdir(parents=True)
    lines(folder / "train.jsonl", ROWS["insta-v3"][0], {**ROWS["insta-v3"][0], "instruction": "Find the zoo's address"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    seeds = list(read_source("insta-v3", "hf:owner/name:train"))
    assert [seed.instruction for seed in seeds] == ["Find the zoo's hours", "Find the zoo's address"]
    with pytest.raises(ConfigError, match="split"):
        list(read_source("insta-v3", "hf:owner/name:nothing"))


@pytest.mark.parametrize("name", ["train.csv", "train_queries.csv"])
def test_what_lies_row_by_row_beside_a_csv_file_goes_to_the_right_row(tmp_path: Path, name: str) -> None:
    lines(tmp_path / "train_ref_info.jsonl", {"Hotels in Lyon": []}, {"Hotels in Nice": []}, {"Hotels in Metz": []})
    (tmp_path / name).write_text('id,query\n1,"Plan a trip\nto Lyon"\n\n2,broken,row\n3,Plan a trip to Metz\n')
    found = [row.hints for row in read_source("travelplanner", tmp_path / name) if isinstance(row, Seed)]
    assert found == [("Needs: Hotels in Lyon",), ("Needs: Hotels in Metz",)]
