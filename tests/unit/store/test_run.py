"""Runs: plans, one terminal record each, images by hash, verdicts apart, what opening repairs."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from tests.unit.store.making import BROKEN, JUDGE, make_episode, make_judgement, picture
from webgym.errors import Damaged, NewerVersion, StoreError
from webgym.rollout.engine import unjudged
from webgym.store import Run, episode_id
from webgym.store.audit import audit
from webgym.store.files import Disk
from webgym.types import Answered, Cancelled, Unscorable


@pytest.fixture
def run(tmp_path: Path):
    with Run.create(tmp_path / "run", settings={"seed": 3}) as made:
        yield made


def test_an_episode_id_is_the_same_wherever_it_is_made():
    assert episode_id("run", 3, "task", 1) == hashlib.sha256(b'["run",3,"task",1]').hexdigest()[:32]
    assert len({episode_id("a", 1, "b", 0), episode_id("a", 0, "b", 1), episode_id("a1", 0, "b", 0)}) == 3


def test_a_run_is_found_again_with_its_settings(run: Run):
    with Run.open(run.path) as again:
        assert again.info == run.info
        assert again.info.name == "run"
        assert again.info.settings == {"seed": 3}
    with pytest.raises(StoreError, match="is a run already"):
        Run.create(run.path)


def test_what_is_no_run_is_named(tmp_path: Path):
    with pytest.raises(StoreError, match=r"no run\.json"):
        Run.open(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(Damaged):
        Run.open(tmp_path)
    (tmp_path / "run.json").write_text('{"version": 9, "whatever": 1}')
    with pytest.raises(NewerVersion, match="version 9"):
        Run.open(tmp_path)


def test_a_plan_is_made_once_and_may_be_repeated_but_not_changed(run: Run):
    planned = run.plan(0, ["b", "a"], replicas=2)
    assert [(one.task, one.replica) for one in planned] == [("b", 0), ("b", 1), ("a", 0), ("a", 1)]
    assert run.plan(0, ["b", "a"], replicas=2) == planned
    assert list(run.planned()) == planned
    with pytest.raises(StoreError, match="planned already"):
        run.plan(0, ["b", "c"])
    with pytest.raises(StoreError, match="a task twice"):
        run.plan(1, ["a", "a"])
    later = run.plan(10, ["a"])
    assert list(run.unfinished()) == [*planned, *later]
    assert list(run.unfinished(10)) == later


def test_the_first_commit_wins_and_the_second_is_dropped(run: Run):
    run.plan(0, ["task-0"])
    episode = make_episode(run)
    assert run.commit(episode)
    assert not run.commit(episode.model_copy(update={"agent": "another"}))
    assert not run.record(episode.id, BROKEN)
    assert not run.withdraw(episode.id, "no")
    assert list(run.episodes()) == [run.episode(episode.id)] == [episode]
    assert run.outcomes()[episode.id].outcome == Answered()
    assert list(run.unfinished()) == []


def test_a_record_comes_first_too_and_can_be_taken_back(run: Run):
    (planned,) = run.plan(0, ["task-0"])
    assert run.record(planned.id, Cancelled(reason="shutdown"))
    assert not run.record(planned.id, BROKEN)
    assert not run.commit(make_episode(run))
    assert run.withdraw(planned.id, "resume")
    assert not run.withdraw(planned.id, "resume")
    assert list(run.unfinished()) == [planned]
    assert run.commit(make_episode(run))
    assert audit(run.path, finished=True).findings == []


def test_an_answered_episode_cannot_be_recorded_without_its_steps(run: Run):
    (planned,) = run.plan(0, ["task-0"])
    with pytest.raises(StoreError, match="commit it"):
        run.record(planned.id, Answered())


def test_nobody_commits_what_was_not_planned_or_belongs_elsewhere(run: Run):
    episode = make_episode(run)
    with pytest.raises(StoreError, match="not in the plan"):
        run.commit(episode)
    run.plan(0, ["task-0"])
    for wrong in ({"run": "other"}, {"replica": 1}, {"id": "0" * 32}):
        with pytest.raises(StoreError, match="should be"):
            run.commit(episode.model_copy(update=wrong))


def test_an_episode_without_its_images_is_refused(run: Run):
    run.plan(0, ["task-0"])
    episode = make_episode(run)
    with pytest.raises(StoreError, match="there is no image"):
        run.commit(episode.model_copy(update={"final_screenshot": "0" * 64}))
    assert list(run.episodes()) == []


def test_another_process_sees_plans_and_records_at_once(run: Run):
    with Run.open(run.path) as other:
        planned = run.plan(0, ["task-0", "task-1"])
        assert other.record(planned[1].id, BROKEN)
        assert not run.record(planned[1].id, BROKEN)
        assert list(run.unfinished()) == planned[:1]


def test_images_are_kept_once_and_checked(run: Run):
    sha256 = run.images.put(picture(5), "jpeg")
    before = run.images.path(sha256).stat().st_ino
    assert run.images.put(picture(5), "jpeg") == sha256
    assert run.images.path(sha256).stat().st_ino == before
    assert run.images.get(sha256) == picture(5)
    assert run.images.path(sha256).suffix == ".jpg"
    assert run.images.path(run.images.put(picture(6), "png")).suffix == ".png"
    os.truncate(run.images.path(sha256), 3)  # what a power cut can do
    run.images.put(picture(5), "jpeg")
    assert run.images.get(sha256) == picture(5)
    for name in ("0" * 64, "../../etc/passwd", "", "A" * 64):
        with pytest.raises(StoreError):
            run.images.get(name)


def test_every_judgement_is_kept_under_its_judge(run: Run):
    run.plan(0, ["task-0"])
    episode = make_episode(run)
    run.commit(episode)
    unsure = make_judgement(episode.id).model_copy(update={"verdict": Unscorable(reason="429")})
    sure, other = make_judgement(episode.id), make_judgement(episode.id, "../" + "x" * 300)
    for one in (unsure, sure, other):
        run.add_judgement(one)
    assert list(run.judgements(JUDGE)) == [unsure, sure]
    assert run.latest_judgements(JUDGE) == {episode.id: sure} == run.latest_judgements(JUDGE, [episode.id])
    assert run.latest_judgements(JUDGE, ["0" * 32]) == {}
    assert list(run.judgements("nobody")) == []
    assert sorted(one.judge for one in run.judgements()) == sorted([JUDGE, JUDGE, other.judge])
    assert len(list((run.path / "verdicts").iterdir())) == 2
    assert audit(run.path, finished=True).judgements == 3


def test_a_file_without_a_record_gets_one_when_the_run_is_opened(run: Run):
    run.plan(0, ["task-0", "task-1"])
    episode = make_episode(run)
    run.commit(episode)
    (run.path / "outcomes.jsonl").unlink()
    with Run.open(run.path, read_only=True) as reader:
        assert dict(reader.outcomes()) == {}
    report = audit(run.path)
    assert (report.clean, report.committed, report.unfinished) == (True, 1, 1)
    with Run.open(run.path) as again:
        assert again.outcomes()[episode.id].stored
    assert audit(run.path).findings == []


def test_opening_leaves_the_staging_files_of_a_living_writer_alone(run: Run):
    with run.disk.staged(b"on its way") as staged:
        with Run.open(run.path) as other:
            assert other.disk.leftovers() == []
        assert Path(staged).exists()
    stale = run.path / "staging" / "0123456789abcdef.4"
    stale.write_bytes(b"half")
    assert [one.severity for one in audit(run.path).findings] == ["debris"]
    Run.open(run.path).close()
    assert not stale.exists()


def test_a_run_from_elsewhere_reaches_no_file_outside_its_folder(run: Run, tmp_path: Path):
    """Whoever made it may have put links where its folders and logs were."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("id_ed25519", ".bashrc", "notes.1", "notes.mark"):
        (theirs / name).write_text("precious, and without an end of line")
    before = {path.name: path.read_text() for path in theirs.iterdir()}
    run.close()
    for path in (run.path / "staging").iterdir():
        path.unlink()
    (run.path / "staging").rmdir()
    (run.path / "staging").symlink_to(theirs)
    Run.open(run.path).close()
    (run.path / "outcomes.jsonl").unlink(missing_ok=True)
    (run.path / "outcomes.jsonl").symlink_to(theirs / "notes.1")
    with pytest.raises(StoreError, match=r"outcomes\.jsonl"):
        Run.open(run.path)
    assert {path.name: path.read_text() for path in theirs.iterdir() if path.name in before} == before


def test_what_is_no_file_is_no_episode(run: Run):
    run.plan(0, ["task-0"])
    episode = make_episode(run)
    run.commit(episode)
    path = run.files.path(episode.iteration, episode.id)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(Damaged, match="is no file"):
        run.episode(episode.id)
    with pytest.raises(StoreError, match="No such file"):
        run.files.read(path.with_name(f"{'0' * 32}.parquet"))


def test_a_run_opened_to_be_read_writes_nothing(run: Run):
    (planned,) = run.plan(0, ["task-0"])
    with Run.open(run.path, read_only=True) as reader:
        for write in (
            lambda: reader.commit(make_episode(run)),
            lambda: reader.record(planned.id, BROKEN),
            lambda: reader.plan(1, ["a"]),
            lambda: reader.add_judgement(make_judgement(planned.id)),
            lambda: reader.withdraw(planned.id, ""),
        ):
            with pytest.raises(StoreError, match="read only"):
                write()


def test_the_audit_finds_what_does_not_belong(run: Run):
    planned = run.plan(0, ["task-0", "task-1"])
    run.commit(make_episode(run))
    assert audit(run.path).clean
    assert [one.remedy for one in audit(run.path, finished=True).breaches] == ["resume the rollout: it finishes the plan"]
    folder, log = run.path / "episodes/000000", run.path / "outcomes.jsonl"
    (folder / f"{'0' * 32}.parquet").write_bytes((folder / f"{planned[0].id}.parquet").read_bytes())
    (folder / "notes.txt").write_text("mine")
    line = json.loads(log.read_text())
    log.write_text("".join(json.dumps(one) + "\n" for one in (line, line, line | {"episode": "1" * 32, "stored": False})))
    said = " | ".join(one.what for one in audit(run.path).breaches)
    for expected in ("an episode nobody planned", "is no episode file", "two terminal records", "which nobody planned"):
        assert expected in said


def test_a_record_whose_file_is_gone_is_a_breach_that_repair_turns_into_a_failure(run: Run):
    (planned,) = run.plan(0, ["task-0"])
    run.commit(make_episode(run))
    run.files.path(0, planned.id).unlink()
    assert "there is no file" in audit(run.path).breaches[0].what
    report = audit(run.path, repair=True, finished=True)
    assert (report.findings, report.failed) == ([], {"infra": 1})


def test_a_plan_that_was_tampered_with_is_a_breach(run: Run):
    run.plan(0, ["task-0"])
    path = run.path / "plan/000000.jsonl"
    path.write_text(path.read_text().replace("task-0", "task-1"))
    assert "the id is not that of" in audit(run.path).breaches[0].what


def test_free_space_is_told(run: Run):
    assert run.free_space() > 1 << 20


def test_a_failed_link_leaves_no_staging_file(tmp_path: Path):
    disk = Disk(tmp_path)
    assert disk.publish(tmp_path / "a", b"first")
    assert not disk.publish(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    with pytest.raises(StoreError), disk.staged(b"x") as staged:
        disk.link(staged, tmp_path / "a" / "b")
    disk.close()
    assert list((tmp_path / "staging").iterdir()) == []


def test_what_was_said_of_a_damaged_file_is_not_said_of_its_successor(run: Run):
    episode = make_episode(run, 0)
    (planned,) = run.plan(0, [episode.task.id])
    run.commit(episode)
    run.add_judgement(make_judgement(planned.id))
    run.quarantine(planned.id, "a bit was flipped")
    assert run.latest_judgements(JUDGE), "it has failed, and nothing has taken its place"
    assert run.withdraw(planned.id, "once more")
    run.commit(episode)
    for one in (run, Run.open(run.path, read_only=True)):
        assert one.latest_judgements(JUDGE) == {}
        assert unjudged(one, 0, JUDGE) == [planned.id]
    run.add_judgement(make_judgement(planned.id))
    assert list(run.latest_judgements(JUDGE)) == [planned.id]


def test_a_long_log_is_taken_in_a_record_at_a_time(run: Run):
    run.plan(0, ["task-0"])
    said = make_judgement(next(run.planned()).id)
    run.verdicts.add(said)
    (log,) = run.verdicts.logs()
    log.path.write_bytes(log.path.read_bytes() * 5_000)
    tracemalloc.start()
    try:
        assert sum(record == said for record in log.added().records) == 5_000
        assert tracemalloc.get_traced_memory()[1] < 3 * log.path.stat().st_size
    finally:
        tracemalloc.stop()
