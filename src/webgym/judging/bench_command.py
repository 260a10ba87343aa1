"""`webgym judge bench` measures a judge against the truth; `webgym judge import` brings outside sets to measure on.

Exit status of a bench: 0 it is measured; 1 it stopped itself, as when the model is down; 2 a setting is wrong, or there is
nothing to measure on. What it found goes to the terminal and, as JSON and as SVG, to a folder beside the run: a run's own
folder holds only what the store wrote.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from webgym import logs
from webgym.errors import ConfigError, RolloutStopped, StoreError
from webgym.judge.bench.figures import Case, Figures, figures
from webgym.judge.bench.importing import Report, Source, import_set
from webgym.judge.bench.labelled import count, labelled, truth_of
from webgym.judge.bench.measuring import Judge, measure
from webgym.judge.bench.plot import plot
from webgym.judge.bench.table import spending, table
from webgym.judging.bench_settings import BenchSettings, ImportSettings
from webgym.judging.programmatic import WorldsJudge
from webgym.judging.running import Patience
from webgym.judging.truth import Cast, Stage, make_truth, unexpected
from webgym.rollout.events import ENDED, Events
from webgym.store import Run
from webgym.store.verdicts import folder_of
from webgym.types import Episode, Judgement, Unscorable

EXIT_STOPPED: Final = 1
WIDTH: Final = 150
POLL: Final = 1.0
LINES: Final = 50  # cases between lines where there is no terminal
SHOWN: Final = 5


def run(settings: BenchSettings) -> int:
    """The command that measures."""
    import uvloop

    logs.start(settings.log_level)
    return uvloop.run(bench(settings, Console(stderr=True)))


async def bench(settings: BenchSettings, console: Console) -> int:
    """Make sure of the episodes, judge them, tell what came of it."""
    folder = settings.labelled or await _own_run(settings, console)
    patience = Patience(settings.give_up_after)
    with await asyncio.to_thread(Run.open, folder) as store:
        truth, episodes = truth_of(store), await asyncio.to_thread(count, store)
        if not episodes:
            raise ConfigError(f"{folder} has no episode with a truth")
        async with _judge(settings, store, patience) as judge:
            console.print(f"{judge.name} on {episodes:,} episodes of {folder}", highlight=False, markup=False)
            with _progress(console, "judging", episodes) as advance:
                cases = await measure(
                    judge,
                    labelled(store),
                    at_once=settings.at_once,
                    told=_hear(patience, advance),
                    keep=_nowhere if settings.judge == "stored" or judge.name == truth else store.add_judgement,
                    stop=lambda: patience.stopped is not None,
                )
        if patience.stopped is not None:
            console.print(f"[bold red]Stopped: {escape(patience.stopped)}. What was paid for is in the cache.[/]")
            return EXIT_STOPPED
        found = figures(cases, judge=judge.name, truth=truth, run=store.info.name, made=time.time())
    out = settings.out or folder.absolute().with_name(f"{folder.absolute().name}-figures")
    written = await asyncio.to_thread(_write, out, found)
    _tell(console, found, written)
    return 0


async def _own_run(settings: BenchSettings, console: Console) -> Path:
    """The labelled run of the offline web that these settings name, played as far as it was not."""
    cast = Cast.of(settings.episodes, settings.seed)
    folder = settings.runs / cast.folder
    stage = Stage(settings.sessions, settings.chromium, settings.sandbox)
    with _progress(console, "playing", cast.episodes) as advance:
        watching: list[asyncio.Task[None]] = []

        def watch(events: Events) -> None:
            watching.append(asyncio.create_task(_follow(events, advance)))

        try:
            await make_truth(folder, cast, stage, watch=watch)
        except RolloutStopped as e:
            raise ConfigError(f"the episodes of {folder} cannot be played: {e}") from e
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    with await asyncio.to_thread(Run.open, folder, read_only=True) as store:
        odd, known = await asyncio.to_thread(unexpected, store), await asyncio.to_thread(count, store)
    if known < cast.episodes:
        console.print(f"{cast.episodes - known} episodes of {folder} have no truth; the same command plays them again.")
    if odd:
        listed = ", ".join(odd[:SHOWN])
        console.print(f"{len(odd)} episodes did not end as their agent was made to ({listed}); their truth says so.")
    return folder


async def _follow(events: Events, advance: Callable[[int], None]) -> None:
    while True:
        counts = events.counts()
        advance(sum(counts.doing[one] for one in ENDED))
        await asyncio.sleep(POLL)


# judges


class StoredJudge:
    """What a judge has said before; costs and tokens are those it had then."""

    def __init__(self, run: Run, name: str) -> None:
        """Blocks on the disk."""
        self.name, self._said = name, run.latest_judgements(name)
        if not self._said:
            known = ", ".join(sorted({repr(one.judge) for one in run.judgements()})) or "nobody"
            raise ConfigError(f"{run.path} has no verdicts of {name!r}; it has those of {known}")

    async def judge(self, episode: Episode) -> Judgement:
        said = self._said.get(episode.id)
        if said is not None:
            return said
        unsaid = Unscorable(reason="it has not judged this episode")
        return Judgement(episode=episode.id, judge=self.name, verdict=unsaid, judged=time.time())


@asynccontextmanager
async def _judge(settings: BenchSettings, store: Run, patience: Patience) -> AsyncIterator[Judge]:
    match settings.judge:
        case "worlds":
            yield WorldsJudge()
        case "stored":
            yield await asyncio.to_thread(StoredJudge, store, settings.stored or "")
        case "rubric":
            from webgym.judging.assembly import rubric_judge

            async with rubric_judge(settings.rubric, store, cache=settings.cache, trouble=patience.trouble) as judge:
                yield judge


def _nowhere(_: Judgement) -> None:
    return


def _hear(patience: Patience, advance: Callable[[int], None]) -> Callable[[Case], None]:
    done = 0

    def heard(case: Case) -> None:
        nonlocal done
        done += 1
        if case.said.kind == "scored":
            patience.relief()
        advance(done)

    return heard


# telling


@contextmanager
def _progress(console: Console, doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; a line now and then elsewhere."""
    if not console.is_terminal:
        told = 0

        def line(done: int) -> None:
            nonlocal told
            if done // LINES > told // LINES:
                console.print(f"{doing}: {done} of {total} episodes", highlight=False)
            told = done

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        bar = shown.add_task(doing, total=total)
        yield lambda done: shown.update(bar, completed=done)


def _write(out: Path, found: Figures) -> tuple[Path, Path]:
    """The figures and the plot, named by their judge."""
    name = folder_of(found.judge)
    numbers, picture = out / f"{name}.json", out / f"{name}.svg"
    try:
        out.mkdir(parents=True, exist_ok=True)
        numbers.write_text(found.model_dump_json(indent=2) + "\n")
        picture.write_text(plot(found))
    except OSError as e:
        raise StoreError(f"writing {out}: {e.strerror}") from e
    return numbers, picture


def _tell(console: Console, found: Figures, written: tuple[Path, ...]) -> None:
    """The table goes to standard output, for a pipe to take; the rest is for the person."""
    Console(width=None if console.is_terminal else WIDTH).print(table(found))
    console.print(spending(found), highlight=False)
    for reason, times in list(found.reasons.items())[:SHOWN]:
        console.print(f"unscorable {times:,} times: {reason[:WIDTH]}", highlight=False, markup=False)
    console.print("Written: " + ", ".join(map(str, written)), highlight=False, markup=False)


# outside sets


def run_import(settings: ImportSettings) -> int:
    """The command that brings an outside set."""
    report = import_set(_source(settings), settings.run)
    _tell_import(Console(), settings, report)
    return 0


def _source(settings: ImportSettings) -> Source:
    if settings.format == "online-mind2web":
        from webgym.judge.bench.sources.online_mind2web import OnlineMind2Web

        assert settings.labels is not None
        assert settings.agent is not None
        return OnlineMind2Web(settings.source, settings.labels, settings.agent)
    from webgym.judge.bench.sources.cua_verifier_bench import CuaVerifierBench

    return CuaVerifierBench(settings.source, settings.split)


def _tell_import(console: Console, settings: ImportSettings, report: Report) -> None:
    lines = [f"{report.kept:,} episodes in {settings.run}, {report.successes:,} of them successes"]
    lines += [f"{len(report.left_out):,} left out, {len(report.faults):,} faults"]
    lines += [f"  left out  {one.where}: {one.reason}" for one in report.left_out[: settings.show]]
    lines += [f"  fault     {one.where}: {one.problem}" for one in report.faults[: settings.show]]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
