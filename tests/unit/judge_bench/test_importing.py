"""Outside sets become labelled runs; what is not sound is told by its place and never guessed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from webgym.errors import ConfigError
from webgym.judge.bench.importing import Report, import_set, origin
from webgym.judge.bench.labelled import labelled
from webgym.judge.bench.pictures import Shape, shape_of
from webgym.judge.bench.sources.cua_verifier_bench import CuaVerifierBench
from webgym.judge.bench.sources.online_mind2web import OnlineMind2Web
from webgym.judge.criteria import claims_question
from webgym.store import Run
from webgym.types import Answer


def picture(colour: int = 0, image_format: str = "PNG", size: tuple[int, int] = (32, 20)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, (colour % 256, 90, 160)).save(written, image_format)
    return written.getvalue()


@pytest.mark.parametrize(("image_format", "name"), [("PNG", "png"), ("JPEG", "jpeg")])
def test_an_images_form_and_size_are_read_from_its_first_bytes(image_format: str, name: str):
    found = shape_of(picture(image_format=image_format, size=(321, 57)))
    assert found == Shape(name, 321, 57)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", picture()[:20], picture(image_format="JPEG")[:30], b"\xff\xd8\xff\xe0\x00\x00" * 9]
)
def test_anything_else_has_no_shape(data: bytes):
    assert shape_of(data) is None


@given(st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"]), st.binary(max_size=200))
def test_no_bytes_break_it(start: bytes, rest: bytes):
    shape_of(start + rest)


def test_a_website_is_the_origin_of_an_address():
    assert origin("https://Shop.example:8443/a?b") == "https://shop.example:8443"
    assert [origin(url) for url in ("", "about:blank", "http://[bad", "http://a:x/")] == ["", "", "", ""]


# online-Mind2Web

OTHER = {"Operator_human_label": "0"}


def label(task: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"task_id": task, "confirmed_task": f"Do {task}.", "SeeAct_human_label": value, **OTHER, **more}


def first_form(folder: Path, name: str, *, pictures: int = 3, **changes: Any) -> None:
    shots = folder / name / "trajectory"
    shots.mkdir(parents=True)
    for number in range(pictures):
        (shots / f"{number}_full_screenshot.png").write_bytes(picture(number))
    told = {"task_id": name, "task": f"Do {name}.", "action_history": ["<a> -> CLICK", "<input> -> TYPE: lamp"],
            "thoughts": ["so"], "final_result_response": "It costs $20."}  # fmt: skip
    (folder / name / "result.json").write_text(json.dumps(told | changes))


def second_form(folder: Path, task: str, **changes: Any) -> None:
    shots = folder / task / "trajectory"
    shots.mkdir(parents=True)
    for number in range(3):
        (shots / f"000{number}.jpg").write_bytes(picture(number, "JPEG"))
    steps: list[dict[str, Any]] = [
        {"step": n, "screenshot": f"000{n}.jpg", "url": "https://shop.example/p", "action": f"act {n}", "thought": None}
        for n in range(2)
    ]
    steps.append(
        {"step": 2, "screenshot": "0002.jpg", "url": None, "action": "TASK_COMPLETE -> ANSWER: $20", "thought": None}
    )
    told = {"schema_version": "online-mind2web-v2", "task_id": task, "task": f"Do {task}.", "agent_final_answer": "$20",
            "reference_length": 4, "action_history": steps}  # fmt: skip
    (folder / task / "result.json").write_text(json.dumps(told | changes))


def bring(folder: Path, labels: list[Any], *, lines: bool = False) -> tuple[Report, Run]:
    file = folder / "human_label.json"
    file.write_text("\n".join(map(json.dumps, labels)) if lines else json.dumps(labels))
    report = import_set(OnlineMind2Web(folder, file, "SeeAct"), folder / "run")
    return report, Run.open(folder / "run")


def test_trajectories_of_both_forms_become_episodes_with_the_peoples_word_as_truth(tmp_path: Path):
    first_form(tmp_path, "aa11")
    second_form(tmp_path, "bb22")
    report, run = bring(tmp_path, [label("aa11", "1"), label("bb22", "0")])
    assert (report.kept, report.successes, report.faults, report.left_out) == (2, 1, (), ())
    found = {one.episode.task.id: one for one in labelled(run)}
    first, second = found["online-mind2web:aa11"], found["online-mind2web:bb22"]
    assert (first.truth.reward, second.truth.reward) == (1, 0)
    assert (first.episode.agent, first.episode.answer, first.episode.width) == ("SeeAct", "It costs $20.", 32)
    words = [step.reply.text if step.reply else None for step in first.episode.steps]
    assert words == ["<a> -> CLICK", "<input> -> TYPE: lamp", None, None]
    assert first.episode.steps[-1].action == Answer(text="It costs $20.")
    shots = [run.images.get(step.screenshot or "") for step in first.episode.steps[:3]]
    assert shots == [picture(0), picture(1), picture(2)]
    assert second.episode.task.website == "https://shop.example"
    assert [step.reply.text if step.reply else None for step in second.episode.steps] == ["act 0", "act 1", None, None]
    assert run.images.get(second.episode.final_screenshot or "") == picture(2, "JPEG")
    run.close()


def test_the_rubric_judge_is_told_what_was_done_in_the_words_of_the_source(tmp_path: Path):
    first_form(tmp_path, "aa11")
    _, run = bring(tmp_path, [label("aa11", "1")])
    (found,) = labelled(run)
    asked = repr(claims_question(found.episode, ()).messages)
    assert "<input> -> TYPE: lamp" in asked
    assert "could not be read" not in asked
    run.close()


def test_screenshots_are_in_the_order_of_their_numbers_not_of_their_names(tmp_path: Path):
    first_form(tmp_path, "aa11", pictures=12)
    _, run = bring(tmp_path, [label("aa11", 1)])
    (found,) = labelled(run)
    assert [run.images.get(step.screenshot or "") for step in found.episode.steps[:12]] == [picture(n) for n in range(12)]
    run.close()


def test_what_could_not_be_executed_and_what_is_missing_is_left_out_and_told(tmp_path: Path):
    first_form(tmp_path, "aa11")
    first_form(tmp_path, "bare", pictures=0)
    report, run = bring(tmp_path, [label("aa11", "1"), label("cc33", "1"), label("dd44", "2"), label("bare", "1")])
    assert [(one.where, one.reason) for one in report.left_out] == [
        ("human_label.json, record 2", "there is no cc33/result.json"),
        ("human_label.json, record 3", "people call it not executable"),
        ("human_label.json, record 4", "it has no screenshots"),
    ]
    run.close()


def test_malformed_records_are_told_by_line_and_none_becomes_an_episode(tmp_path: Path):
    first_form(tmp_path, "good")
    first_form(tmp_path, "notext", task="")
    first_form(tmp_path, "history", action_history="click")
    first_form(tmp_path, "reworded", task="Do something else.")
    first_form(tmp_path, "cutshot")
    (tmp_path / "cutshot" / "trajectory" / "1_full_screenshot.png").write_bytes(picture()[:18])
    first_form(tmp_path, "nameless")
    (tmp_path / "nameless" / "trajectory" / "last.png").write_bytes(picture())
    second_form(tmp_path, "escaping", action_history=[{"step": 0, "screenshot": "../../human_label.json", "action": "x"}])
    second_form(tmp_path, "skipping", action_history=[{"step": 1, "screenshot": "0001.jpg", "action": "x"}])
    second_form(tmp_path, "lacking", action_history=[{"step": 0, "screenshot": "0009.jpg", "action": "x"}])
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose" / "result.json").write_text("It went well.")
    first_form(tmp_path, "verbose", final_result_response="x" * 30_000)
    broken = ["notext", "history", "reworded", "cutshot", "nameless", "escaping", "skipping", "lacking", "prose", "verbose"]
    rows: list[Any] = [label("good", "1"), *(label(name, "1") for name in broken)]
    rows += [
        label("good", "1"),
        label("good", "yes"),
        label("good", True),
        {"task_id": "good"},
        "good",
        label("../good", "1"),
        {},
    ]
    report, run = bring(tmp_path, rows, lines=True)
    assert report.kept == 1
    assert [fault.where for fault in report.faults] == [f"human_label.json:{n}" for n in range(2, len(rows) + 1)]
    told = dict(zip([*broken, "twice", "yes", "true", "agent", "text", "path", "empty"], report.faults, strict=True))
    assert "another wording" in told["reworded"].problem
    assert "screenshot 2" in told["cutshot"].problem
    assert "its place is unknown" in told["nameless"].problem
    assert "no file name" in told["escaping"].problem
    assert "calls itself step 1" in told["skipping"].problem
    assert "0009.jpg" in told["lacking"].problem
    assert "comes twice" in told["twice"].problem
    assert "not 0, 1 or 2" in told["yes"].problem
    assert "not 0, 1 or 2" in told["true"].problem
    assert "labels for nobody" in told["agent"].problem
    assert "cannot be the name of a folder" in told["path"].problem
    assert len(list(run.episodes())) == 1
    run.close()


def test_a_label_of_another_agent_says_whose_there_are(tmp_path: Path):
    first_form(tmp_path, "aa11")
    file = tmp_path / "human_label.json"
    file.write_text(json.dumps([label("aa11", "1")]))
    with pytest.raises(ConfigError, match="labels for Operator, SeeAct"):
        import_set(OnlineMind2Web(tmp_path, file, "Nobody"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# cUAVerifierBench

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
TRAJECTORY = pa.schema(
    [("task_id", pa.string()), ("instruction", pa.string()), ("init_url", pa.string()), ("final_answer", pa.string()),
     ("is_aborted", pa.bool_()), ("web_surfer_log", pa.string()), ("screenshots", pa.list_(PICTURE)),
     ("n_screenshots", pa.int32()), ("uv_outcome_success", pa.int32())]
)  # fmt: skip
ANNOTATION = pa.schema([("task_id", pa.string()), ("annotator", pa.string()), ("human_judgement_outcome", pa.string())])
LOG = "\n".join(
    json.dumps({"action": "web_surfer", "arguments": {"action": "left_click", "coordinate": [n, 4]},
                "url": "https://www.adidas.example/shoes", "timestamp": "t"}) for n in range(2)
)  # fmt: skip


def trajectory(task: str, *, pictures: int = 2, **changes: Any) -> dict[str, Any]:
    shots = [{"bytes": picture(n), "path": f"screenshot{n}.png"} for n in range(pictures)]
    told = {"task_id": task, "instruction": f"Do {task}.", "init_url": "https://www.adidas.example/", "final_answer": "Two.",
            "is_aborted": False, "web_surfer_log": LOG, "screenshots": shots, "n_screenshots": pictures,
            "uv_outcome_success": 1}  # fmt: skip
    return told | changes


def vote(task: str | None, judge: str, outcome: str) -> dict[str, Any]:
    return {"task_id": task, "annotator": judge, "human_judgement_outcome": outcome}


def written(folder: Path, trajectories: list[dict[str, Any]], votes: list[dict[str, Any]]) -> Path:
    for part, rows, schema in (("trajectories", trajectories, TRAJECTORY), ("annotations", votes, ANNOTATION)):
        (folder / part).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / part / "internal-00000-of-00001.parquet")
    return folder


def test_the_truth_is_the_strict_majority_of_the_people(tmp_path: Path):
    votes = [vote("a", "Judge1", "Correct"), vote("a", "Judge2", "Correct"), vote("a", "Judge3", "Incorrect")]
    votes += [vote("b", "Judge1", "Incorrect"), vote("tie", "Judge1", "Correct"), vote("tie", "Judge2", "Incorrect")]
    votes += [vote("dark", "Judge1", "Correct")]
    rows = [trajectory("a"), trajectory("b", final_answer="<no_answer>", pictures=4), trajectory("tie"),
            trajectory("dark", pictures=0), trajectory("alone")]  # fmt: skip
    report = import_set(CuaVerifierBench(written(tmp_path / "set", rows, votes), "internal"), tmp_path / "run")
    assert (report.kept, report.successes, report.faults) == (2, 1, ())
    assert [one.reason for one in report.left_out] == [
        "people are divided, 1 to 1",
        "it has no screenshots",
        "nobody has annotated it",
    ]
    with Run.open(tmp_path / "run") as run:
        found = {one.episode.task.id: one for one in labelled(run)}
        a, b = found["cua-verifier-bench:a"], found["cua-verifier-bench:b"]
        assert (a.truth.reward, a.truth.reason) == (1, "2 of 3 people: correct")
        assert a.episode.task.website == "https://www.adidas.example"
        assert [step.reply.text if step.reply else None for step in a.episode.steps] == [
            '{"action":"left_click","coordinate":[0,4]}',
            '{"action":"left_click","coordinate":[1,4]}',
            None,
        ]
        assert (b.episode.answer, b.episode.outcome.kind) == (None, "step_limit")
        assert len(b.episode.steps) == 4
        assert run.images.get(b.episode.final_screenshot or "") == picture(3)


def test_malformed_rows_are_told_by_row_and_their_truth_is_not_guessed(tmp_path: Path):
    votes = [vote("good", "Judge1", "Correct"), vote("partial", "Judge1", "Partial"), vote("partial", "Judge2", "Correct")]
    votes += [vote("twice", "Judge1", "Correct"), vote("twice", "Judge1", "Correct"), vote(None, "Judge1", "Correct")]
    votes += [vote(name, "Judge1", "Correct") for name in ("count", "log", "shot", "wordless", "gone")]
    rows = [
        trajectory("good"),
        trajectory("partial"),
        trajectory("twice"),
        trajectory("count", n_screenshots=7),
        trajectory("log", web_surfer_log='{"arguments": {}}\nnot json'),
        trajectory("shot", screenshots=[{"bytes": b"GIF89a", "path": "a.gif"}], n_screenshots=1),
        trajectory("wordless", instruction=""),
        trajectory("good"),
    ]
    report = import_set(CuaVerifierBench(written(tmp_path / "set", rows, votes), "internal"), tmp_path / "run")
    assert report.kept == 1
    name = "internal-00000-of-00001.parquet"
    assert [fault.where for fault in report.faults] == [
        *(f"annotations/{name}, row {row}" for row in (2, 5, 6)),
        *(f"trajectories/{name}, row {row}" for row in (4, 5, 6, 7, 8)),
        "annotations",
    ]
    assert "web_surfer_log, line 2" in report.faults[4].problem
    assert "comes twice" in report.faults[7].problem
    assert "'gone' is annotated" in report.faults[-1].problem
    assert sorted(one.reason for one in report.left_out) == [
        "an annotation of it cannot be read",
        "an annotation of it cannot be read",
    ]


def test_a_set_that_is_not_there_or_not_that_is_said_at_once(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"has no internal-\*.parquet; splits are"):
        import_set(CuaVerifierBench(tmp_path, "internal"), tmp_path / "run")
    folder = written(tmp_path / "set", [trajectory("a")], [vote("a", "Judge1", "Correct")])
    (folder / "annotations" / "internal-00000-of-00001.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ConfigError, match="cannot be read as Parquet"):
        import_set(CuaVerifierBench(folder, "internal"), tmp_path / "run")
