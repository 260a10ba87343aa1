"""`webgym audit` and `webgym export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.store.making import make_episode, make_judgement
from webgym import cli
from webgym.store import Run
from webgym.store.audit import audit
from webgym.store.episodes import images_of
from webgym.store.export import Exported
from webgym.types import Infra, StepLimit


@pytest.fixture
def run(tmp_path: Path) -> Run:
    with Run.create(tmp_path / "run") as made:
        made.plan(0, ["task-0", "task-1", "task-2"])
        for n, split in enumerate(("train", "test")):
            assert made.commit(make_episode(made, n, split=split))
        made.add_judgement(make_judgement(next(made.planned()).id))
    return made


def test_audit_says_what_there_is_and_its_exit_status_tells_a_breach(run: Run, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["audit", str(run.path)]) == 0
    assert "no breach" in capsys.readouterr().out
    assert cli.main(["audit", str(run.path), "--finished"]) == 1
    said = capsys.readouterr().out
    assert "1 breaches" in said
    assert "resume" in said


def test_audit_repairs_when_asked(run: Run):
    (run.path / "outcomes.jsonl").write_bytes(b"\x1b[31mgarbage\n" + (run.path / "outcomes.jsonl").read_bytes())
    assert cli.main(["audit", str(run.path)]) == 1
    assert cli.main(["audit", str(run.path), "--repair"]) == 0
    assert cli.main(["audit", str(run.path)]) == 0


def falsify(run: Run) -> str:
    """Let the first record say another outcome than its file; returns the episode."""
    log = run.path / "outcomes.jsonl"
    first, *others = map(json.loads, log.read_text().splitlines())
    first["outcome"] = StepLimit(limit=3).model_dump()
    log.write_text("".join(json.dumps(line) + "\n" for line in (first, *others)))
    return str(first["episode"])


def test_a_record_that_contradicts_its_file_is_written_anew_by_a_repair_and_by_nothing_else(run: Run):
    log, episode = run.path / "outcomes.jsonl", falsify(run)
    Run.open(run.path).close()
    (breach,) = audit(run.path).breaches
    assert "its record says otherwise" in breach.what
    assert "--repair` writes the record anew" in breach.remedy
    assert cli.main(["audit", str(run.path), "--repair"]) == 0
    with Run.open(run.path, read_only=True) as again:
        record = again.outcomes()[episode]
        assert (record.outcome, record.stored) == (again.episode(episode).outcome, True)
        assert len(again.outcomes()) == 2
    lines = log.read_bytes()
    assert cli.main(["audit", str(run.path), "--repair"]) == 0
    assert log.read_bytes() == lines, "a good run is left as it is"


def test_an_episode_with_a_wrong_record_and_a_lost_image_is_set_aside(run: Run):
    episode = falsify(run)
    with Run.open(run.path, read_only=True) as reader:
        sha256 = reader.episode(episode).steps[0].screenshot
    next(run.path.glob(f"images/*/{sha256}.*")).unlink()
    assert cli.main(["audit", str(run.path), "--repair"]) == 0
    with Run.open(run.path, read_only=True) as again:
        assert again.outcomes()[episode].quarantined


def test_damaged_bytes_do_not_drive_the_terminal(run: Run, capsys: pytest.CaptureFixture[str]):
    (run.path / "episodes/000000/[bold]\x1b[31m").write_bytes(b"")
    assert cli.main(["audit", str(run.path)]) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[bol" in said  # nor are they taken for markup


def test_audit_of_what_is_no_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["audit", str(tmp_path)]) == cli.EXIT_USAGE
    assert "has no run.json" in capsys.readouterr().err


def test_export_writes_episodes_with_their_judgements_and_images(run: Run, tmp_path: Path):
    out = tmp_path / "out"
    assert cli.main(["export", str(run.path), "--out", str(out)]) == 0
    lines = [Exported.model_validate_json(line) for line in (out / "episodes.jsonl").read_bytes().splitlines()]
    assert [line.episode for line in lines] == list(run.episodes())
    assert sum(len(line.judgements) for line in lines) == 1
    for line in lines:
        for sha256 in images_of(line.episode):
            assert (out / "images" / f"{sha256}.jpg").read_bytes() == run.images.get(sha256)
    assert cli.main(["export", str(run.path), "--out", str(out)]) == cli.EXIT_USAGE


def test_export_leaves_out_and_names_a_damaged_image_and_one_that_is_gone(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    first = next(run.episodes())
    damaged, gone = sorted(images_of(first))[:2]
    run.images.path(damaged).write_bytes(b"something else")
    run.images.path(gone).unlink()
    out = tmp_path / "out"
    assert cli.main(["export", str(run.path), "--out", str(out)]) == 0
    lines = [Exported.model_validate_json(line) for line in (out / "episodes.jsonl").read_bytes().splitlines()]
    assert [line.episode for line in lines] == list(run.episodes())
    assert lines[0].missing == (damaged, gone)
    assert all(one in caplog.text for one in (damaged, gone))
    for line in lines:
        for sha256 in images_of(line.episode) - set(line.missing):
            assert (out / "images" / f"{sha256}.jpg").is_file()
    assert not (out / "images" / f"{damaged}.jpg").exists()


def test_export_takes_one_split(run: Run, tmp_path: Path):
    assert cli.main(["export", str(run.path), "--out", str(tmp_path / "out"), "--split", "test"]) == 0
    (line,) = (tmp_path / "out/episodes.jsonl").read_bytes().splitlines()
    assert json.loads(line)["episode"]["task"]["split"] == "test"


def test_an_episode_whose_record_was_lost_is_debris_and_counts_as_its_file_says(tmp_path: Path):
    with Run.create(tmp_path / "run") as run:
        run.plan(0, ["task-0", "task-1"])
        run.commit(make_episode(run, 0))
        run.commit(make_episode(run, 1, outcome=Infra(reason="the browser died")))
    (run.path / "outcomes.jsonl").write_bytes(b"")
    report = audit(run.path, finished=True)
    assert {one.severity for one in report.findings} == {"debris"}
    told = (report.committed, dict(report.failed), report.unfinished)
    assert told == (1, {"infra": 1}, 0)
    assert cli.main(["audit", str(run.path), "--finished", "--repair"]) == 0
    after = audit(run.path, finished=True)
    assert (after.committed, dict(after.failed), after.unfinished) == told, "opening the run changes no figure"
