"""A run's folder in the monitor: what is listed, filtered and told, also while it grows."""

from __future__ import annotations

import gc
import time
from pathlib import Path

from tests.unit.store.making import BROKEN, make_episode
from tests.unit.ui.playing import Play, make_task
from webgym.store import Run
from webgym.types import Judgement, Scored, Unscorable
from webgym.ui.archive import PAGE, Archive, Asked
from webgym.ui.folder import FolderBoard


def grown(run: Run, count: int) -> None:
    run.plan(0, [f"task-{n}" for n in range(count)])


def test_a_folder_is_drawn_as_it_grows(run: Run):
    grown(run, 3)
    archive = Archive(Run.open(run.path, read_only=True))
    board = FolderBoard(archive)
    archive.refresh(1)
    assert [cell.doing for cell in board.cells()] == ["planned"] * 3
    before = board.cells()[2]
    first = make_episode(run, 0, steps=4)
    run.commit(first)
    run.add_judgement(Judgement(episode=first.id, judge="one", verdict=Scored(reward=1), judged=1.0))
    run.record(make_episode(run, 1).id, BROKEN)
    archive.refresh(1)
    done, failed, planned = board.cells()
    assert (done.doing, done.step, done.reward, done.label) == ("done", 4, 1, first.task.instruction)
    assert (failed.doing, failed.why) == ("failed", f"infrastructure: {BROKEN.reason}")
    assert planned is before, "what did not change is the same object"
    head = board.head()
    assert (head.total, head.ended, head.scored, head.passed, head.steps) == (3, 2, 1, 1, 4)


def test_a_withdrawn_record_is_taken_back(run: Run):
    grown(run, 1)
    archive = Archive(run)
    episode = make_episode(run, 0)
    run.record(episode.id, BROKEN)
    archive.refresh(1)
    run.withdraw(episode.id, "again")
    archive.refresh(1)
    assert [entry.doing for entry in archive.entries] == ["planned"]


def test_filters_and_pages(run: Run):
    play = Play(run, [make_task(n) for n in range(120)], seed=3)
    for _ in range(60):
        play.move(40, keep=True)
    archive = Archive(run)
    while (everything := archive.page(Asked())).unread:
        pass
    assert (everything.total, everything.found, everything.pages, len(everything.lines)) == (120, 120, 3, PAGE)
    assert len(archive.page(Asked(page=3)).lines) == 20
    assert archive.page(Asked(page=99)).page == 3
    passed = archive.page(Asked(reward="1"))
    assert 0 < passed.found < 120
    assert {line.reward for line in passed.lines} == {1}
    parts = [
        archive.page(Asked(outcome=one)).found
        for one in ("answered", "step_limit", "infra", "site_error", "cancelled", "unfinished")
    ]
    assert sum(parts) == 120
    assert {line.website for line in archive.page(Asked(website="SHOP3")).lines} == {"http://shop3.localhost:8090"}


def test_a_judge_that_failed_gives_no_reward(run: Run):
    grown(run, 1)
    episode = make_episode(run, 0)
    run.commit(episode)
    run.add_judgement(Judgement(episode=episode.id, judge="one", verdict=Unscorable(reason="no answer"), judged=1.0))
    archive = Archive(run)
    assert archive.page(Asked(reward="none")).found == 1
    told = archive.detail(episode.id)
    assert told is not None
    assert [(one.reward, one.reason) for one in told.rulings] == [(None, "no answer")]


def test_the_reward_shown_is_of_the_judge_who_scored_last_in_whatever_order_the_folder_is_read(run: Run):
    grown(run, 1)
    episode = make_episode(run, 0)
    run.commit(episode)
    watching = Archive(run)
    watching.refresh(1)
    said = (("z", Scored(reward=1)), ("m", Scored(reward=0)), ("a", Unscorable(reason="down")))
    for at, (judge, verdict) in enumerate(said):
        run.add_judgement(Judgement(episode=episode.id, judge=judge, verdict=verdict, judged=at))
        watching.refresh(1)
    for archive in (watching, Archive(run)):
        archive.refresh(1)
        assert [entry.reward for entry in archive.entries] == [0]
        told = archive.detail(episode.id)
        assert told is not None
        assert [one.reward for one in told.rulings] == [1, 0, None]


def test_a_damaged_episode_says_so_and_the_others_are_shown(run: Run):
    grown(run, 2)
    for n in range(2):
        run.commit(make_episode(run, n))
    broken = make_episode(run, 0)
    path = run.files.path(0, broken.id)
    path.write_bytes(path.read_bytes()[:100])
    archive = Archive(Run.open(run.path, read_only=True))
    lines = archive.page(Asked()).lines
    assert [line.doing for line in lines] == ["failed", "done"]
    told = archive.detail(broken.id)
    assert told is not None
    assert broken.id in told.why


def test_looking_changes_nothing_on_the_disk(run: Run):
    grown(run, 2)
    run.commit(make_episode(run, 0))
    before = _files(run.path)
    with Run.open(run.path, read_only=True) as opened:
        archive = Archive(opened)
        archive.page(Asked())
        archive.detail(make_episode(run, 0).id)
        archive.image("0" * 64)
    assert _files(run.path) == before


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def test_a_reward_goes_with_the_file_it_was_given_for(run: Run):
    grown(run, 1)
    episode = make_episode(run, 0)
    run.commit(episode)
    run.add_judgement(Judgement(episode=episode.id, judge="one", verdict=Scored(reward=1), judged=time.time()))
    watching = Archive(run)

    def shown() -> set[tuple[str, int | None, int, int, int]]:
        """What is told by an archive that has watched all along, and by one that comes now."""
        told = set()
        for archive in (watching, Archive(run)):
            archive.refresh(1)
            (entry,), head, detail = archive.entries, FolderBoard(archive).head(), archive.detail(episode.id)
            assert detail is not None
            told.add((entry.doing, entry.reward, head.scored, head.passed, len(detail.rulings)))
        return told

    assert shown() == {("done", 1, 1, 1, 1)}
    run.quarantine(episode.id, "damaged")
    assert shown() == {("failed", None, 0, 0, 1)}
    run.withdraw(episode.id, "again")
    assert shown() == {("planned", None, 0, 0, 0)}
    run.commit(make_episode(run, 0, steps=5))
    assert shown() == {("done", None, 0, 0, 0)}
    assert [entry.steps for entry in watching.entries] == [5]
    run.add_judgement(Judgement(episode=episode.id, judge="one", verdict=Scored(reward=0), judged=time.time()))
    assert shown() == {("done", 0, 1, 0, 1)}


def test_an_attempt_made_again_between_two_looks_is_read_again(run: Run):
    grown(run, 1)
    run.commit(make_episode(run, 0, steps=2))
    archive = Archive(run)
    archive.refresh(1)
    run.quarantine(make_episode(run, 0).id, "damaged")
    run.withdraw(make_episode(run, 0).id, "again")
    run.commit(make_episode(run, 0, steps=5))
    archive.refresh(1)
    assert [entry.steps for entry in archive.entries] == [5]


def test_what_judges_wrote_is_told_of_one_episode_and_not_kept(run: Run):
    grown(run, 200)
    episodes = [make_episode(run, n, steps=1) for n in range(200)]
    for n, episode in enumerate(episodes):
        for at, reward in enumerate((0, 1)):
            verdict = Scored.model_validate({"reward": reward, "reason": f"{n} {at} " + "because " * 1_000})
            run.add_judgement(Judgement(episode=episode.id, judge="one", verdict=verdict, judged=at))
    archive = Archive(run)
    archive.refresh(1)
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is Judgement and one.verdict.reason.endswith("because ")]
    told = archive.detail(episodes[7].id)
    assert told is not None
    assert [(one.reward, one.reason[:4]) for one in told.rulings] == [(1, "7 1 ")], "what a judge said last"
