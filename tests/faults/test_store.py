"""Rows 20 to 23: full disks, crashes at every write, two writers, damaged files. Each ends with an audit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.unit.store.making import make_episode, make_judgement, picture
from webgym.errors import Damaged, DiskFull, StoreError
from webgym.store import Run
from webgym.store.audit import audit
from webgym.types import Cancelled, Infra

SIZE = 2 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> Path:
    """Leave no room at all."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    return ballast


def test_a_full_disk_shows_nothing_half_written_and_the_same_call_works_once_there_is_room(small_disk: Path):
    with Run.create(small_disk / "run") as run:
        planned = run.plan(0, [f"task-{n}" for n in range(3)])
        kept, waiting = make_episode(run, 0), make_episode(run, 1)
        assert run.commit(kept)
        assert 0 < run.free_space() < SIZE
        ballast = fill(small_disk)
        assert run.free_space() == 0
        for write in (
            lambda: run.commit(waiting),
            lambda: run.images.put(picture(77) * 9, "png"),
            lambda: run.add_judgement(make_judgement(kept.id)),
            lambda: run.plan(1, ["task-0"]),
        ):
            with pytest.raises(DiskFull):
                write()
        assert list(run.episodes()) == [kept]
        assert [one.id for one in run.unfinished()] == [one.id for one in planned[1:]]
        assert [path for path in (run.path / "staging").iterdir() if path.suffix != ".mark"] == []
        assert audit(run.path).findings == []
        ballast.unlink()
        assert run.commit(waiting)
        assert run.record(planned[2].id, Cancelled(reason="disk_full"))
        assert list(run.judgements()) == []
    report = audit(run.path, finished=True)
    assert (report.findings, report.committed, report.cancelled) == ([], 2, {"disk_full": 1})


def test_a_record_that_does_not_fit_leaves_the_log_as_it_was(small_disk: Path):
    with Run.create(small_disk / "run") as run:
        planned = run.plan(0, [f"task-{n}" for n in range(200)])
        run.record(planned[0].id, Infra(reason="first"))
        ballast = fill(small_disk)
        ended = 1
        try:
            for one in planned[1:]:  # the page the log is on has room for a while
                run.record(one.id, Infra(reason="x" * 300))
                ended += 1
        except DiskFull:
            pass
        assert ended < len(planned)
        assert len(run.outcomes()) == ended
        assert audit(run.path).findings == []
        ballast.unlink()
        assert run.record(planned[-1].id, Infra(reason="last"))
        assert len(run.outcomes()) == ended + 1


@pytest.mark.timeout(420)
def test_a_crash_at_any_write_leaves_a_run_that_audits_clean(tmp_path: Path):
    """Killed at each point while writing, then killed at each point while repairing that. Hundreds of processes that wait
    for the disk: on a busy one that takes minutes."""
    writer = Path(__file__).with_name("store_writer.py")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, writer, tmp_path], env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stderr
    runs = sorted((path for path in tmp_path.iterdir() if (path / "run.json").exists()), key=lambda path: int(path.name))
    assert len(runs) > 60
    seen = set()
    for path in runs:
        report = audit(path)
        assert report.findings == [], f"after {path.name} writes: {report.findings}"
        assert report.planned == report.committed + report.failed.total() + report.cancelled.total() + report.unfinished
        seen.add((report.planned, report.committed, report.unfinished))
    assert seen >= {(0, 0, 0), (4, 0, 4), (4, 1, 3), (4, 1, 0)}
    report = audit(runs[-1], finished=True)
    assert (report.clean, report.judgements, report.images) == (True, 1, 4)


@pytest.mark.parametrize("point", ["staged", "linked", "append part"])
def test_even_before_repair_a_crash_breaks_no_promise(tmp_path: Path, point: str):
    """The audit of a run nobody has opened again finds debris, never a breach."""
    code = f"""
import os, signal, sys
from pathlib import Path
from tests.unit.store.making import make_episode
from webgym.store import Run
from webgym.store.files import Disk
armed = False
def checkpoint(name):
    if armed and name == {point!r}:
        os.kill(os.getpid(), signal.SIGKILL)
folder = Path(sys.argv[1])
run = Run.create(folder, disk=Disk(folder, checkpoint=checkpoint, chunk=64))
run.plan(0, ["task-0"])
episode = make_episode(run, 0)
armed = True
run.commit(episode)
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "run"], env=os.environ | {"PYTHONPATH": root}, check=False)
    assert done.returncode == -9
    before = audit(tmp_path / "run")
    assert before.clean
    assert {one.severity for one in before.findings} == {"debris"}
    after = audit(tmp_path / "run", repair=True)
    assert after.findings == []
    assert (after.committed, after.unfinished) == ((0, 1) if point == "staged" else (1, 0))


def _commit(path: Path, start: object, results: object) -> None:
    with Run.open(path) as run:
        episodes = [make_episode(run, n) for n in range(20)]
        start.wait(30)
        results.put([run.commit(episode) for episode in episodes])


def test_of_two_processes_that_commit_the_same_episodes_one_wins_each(tmp_path: Path):
    with Run.create(tmp_path / "run") as run:
        run.plan(0, [f"task-{n}" for n in range(20)])
    processes = get_context("spawn")
    start, results = processes.Barrier(3), processes.Queue()
    writers = [processes.Process(target=_commit, args=(run.path, start, results)) for _ in range(3)]
    for one in writers:
        one.start()
    won = [results.get(timeout=60) for _ in writers]
    for one in writers:
        one.join(30)
        assert one.exitcode == 0
    assert [sum(each) for each in zip(*won, strict=True)] == [1] * 20
    report = audit(run.path, finished=True)
    assert (report.findings, report.committed) == ([], 20)
    assert len((run.path / "outcomes.jsonl").read_bytes().splitlines()) == 20


def test_a_truncated_episode_is_set_aside_with_a_reason_and_the_others_load(tmp_path: Path):
    with Run.create(tmp_path / "run") as run:
        run.plan(0, [f"task-{n}" for n in range(3)])
        episodes = [make_episode(run, n) for n in range(3)]
        assert all(run.commit(episode) for episode in episodes)
        broken = run.files.path(0, episodes[1].id)
        os.truncate(broken, broken.stat().st_size // 2)
        (breach,) = audit(run.path).breaches
        assert breach.where == f"episodes/000000/{episodes[1].id}.parquet"
        assert {one.id for one in run.episodes()} == {episodes[0].id, episodes[2].id}
        assert not broken.exists()
        assert (run.path / "quarantine" / broken.name).exists()
        assert "is no episode" in (run.path / "quarantine" / f"{broken.name}.reason.json").read_text()
        report = audit(run.path, finished=True)
        assert (report.findings, report.committed, report.failed) == ([], 2, {"infra": 1})
        assert not run.commit(episodes[1])  # it has failed, and that is its one record
        assert run.withdraw(episodes[1].id, "attempt it again")
        assert run.commit(episodes[1])
        assert audit(run.path, finished=True).committed == 3


def test_an_image_with_a_flipped_bit_takes_its_episode_to_quarantine_and_no_other(tmp_path: Path):
    with Run.create(tmp_path / "run") as run:
        run.plan(0, ["task-0", "task-1"])
        first, second = make_episode(run, 0), make_episode(run, 1)
        assert run.commit(first)
        assert run.commit(second)
        assert first.final_screenshot is not None
        shot = first.steps[2].screenshot
        assert shot is not None
        path = run.images.path(shot)
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
        with pytest.raises(Damaged):
            run.images.get(shot)
    assert not audit(run.path).clean
    report = audit(run.path, repair=True, finished=True)
    assert (report.findings, report.committed, report.failed) == ([], 1, {"infra": 1})
    with Run.open(run.path) as run:
        assert list(run.episodes()) == [second]
        assert not path.exists()
        assert run.images.put(picture(2), "jpeg") == shot  # and it can be kept again
        assert run.images.get(shot) == picture(2)


def test_a_garbage_line_in_the_log_costs_no_episode(tmp_path: Path):
    with Run.create(tmp_path / "run") as run:
        planned = run.plan(0, [f"task-{n}" for n in range(3)])
        assert run.commit(make_episode(run, 0))
        assert run.record(planned[1].id, Infra(reason="gone"))
        assert run.commit(make_episode(run, 2))
    log = run.path / "outcomes.jsonl"
    lines = log.read_bytes().splitlines()
    log.write_bytes(b"\n".join([b"\x00\xff{garbage", lines[1], b'{"event":"ended","episode":"../x"}', b""]))
    assert len(audit(run.path).breaches) == 2
    with Run.open(run.path) as reopened:
        assert {one.task.id for one in reopened.episodes()} == {"task-0", "task-2"}
        assert set(reopened.outcomes()) == {one.id for one in planned}
    assert audit(run.path, finished=True).findings == []
    assert (run.path / "quarantine" / "outcomes.jsonl").read_bytes().startswith(b"\x00\xff{garbage\n")
    assert "2 lines that are no records" in (run.path / "quarantine" / "outcomes.jsonl.reason.json").read_text()


def test_a_stopped_writer_does_not_hold_the_others_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("webgym.store.files._LOCK_SECONDS", 0.2)
    with Run.create(tmp_path / "run") as run:
        (planned,) = run.plan(0, ["task-0"])
        with run.disk.alone(run.path / "lock"), pytest.raises(StoreError, match="held by another process"):
            run.record(planned.id, Infra(reason="x"))
        assert run.record(planned.id, Infra(reason="x"))
