"""`webgym tasks build`: sources → seeds → rubrics → children → split → one task file.

Invariant: the file is a function of the sources, the settings and the model's replies. Replies are stored the moment they
arrive, so a build may be killed at any point and run again: it repeats the cheap work, pays only for what is missing (and
again for the calls the kill interrupted), and ends with the same bytes. Results are taken in the order of the seeds, whoever
is quicker. A seed ends in exactly one way:

    task          its rubric passed every check; children follow it
    quarantined   the model's reply, and its one repair, were no good: `quarantine.jsonl` in the work folder says why
    unanswered    the endpoint failed or the budget is spent: no file is written, run again to go on

The split is checked on the finished file, read back from disk; a leak fails the build and leaves no file.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Final, Self

from pydantic import Field, model_validator

from webgym import logs
from webgym.config import Settings, load
from webgym.endpoint import Endpoint, EndpointSettings, Meter
from webgym.endpoint.transport import read_key
from webgym.errors import BudgetSpent, ConfigError, EndpointDown, EndpointError, EndpointRefused
from webgym.tasks.decompose import DecomposeSettings, decompose
from webgym.tasks.duplicates import DEFAULT_THRESHOLD
from webgym.tasks.estimate import EstimateSettings, estimate
from webgym.tasks.files import Staged, TaskFile, write_tasks
from webgym.tasks.filters import SeedRules
from webgym.tasks.flow import in_order
from webgym.tasks.prepare import Prepared, SourceFile, prepare, seeds_in
from webgym.tasks.progress import Bar
from webgym.tasks.rubric import Quarantined, quarantined, write
from webgym.tasks.seed import Seed
from webgym.tasks.split import Entry, Place, SplitSettings, check, split
from webgym.tasks.stats import band_of
from webgym.types import Split, Task

log = logging.getLogger(__name__)

INCOMPLETE: Final = 1
STOPPED: Final = 130
HOPELESS: Final = 20  # refusals of single requests, and no success, before the fault is ours


class BuildSettings(Settings):
    """Settings of `webgym tasks build`."""

    sources: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    out: Path = Field(description="The task file to write, .parquet.")
    work: Path = Field(description="Folder for stored replies and what a resumed build needs.")
    rules: SeedRules = SeedRules()
    duplicate_threshold: Annotated[float, Field(ge=0.5, le=1)] = DEFAULT_THRESHOLD
    confidential: bool = Field(False, description="Also take decrypted and gated sources, and write their text to disk.")
    endpoint: EndpointSettings = EndpointSettings()
    decompose: DecomposeSettings = DecomposeSettings()
    split: SplitSettings = SplitSettings()
    estimate: EstimateSettings = EstimateSettings()
    give_up: Annotated[int, Field(ge=1)] = Field(20, description="Failures of the endpoint in a row that end the run.")
    dry_run: bool = Field(False, description="Price the job without a single call.")

    @model_validator(mode="after")
    def _parquet(self) -> Self:
        if self.out.suffix.lower() != ".parquet":
            raise ValueError(f"out must end in .parquet, not {self.out.name!r}: convert it afterwards if need be")
        return self

    @property
    def model(self) -> EndpointSettings:
        """The endpoint, with the work folder's cache unless another is named."""
        cache = self.endpoint.cache or self.work / "replies"
        return self.endpoint.model_copy(update={"cache": cache})


@dataclass(frozen=True)
class Made:
    """A task and its children, or why there is none."""

    seed: Seed
    tasks: tuple[Task, ...]
    quarantined: tuple[Quarantined, ...]


@dataclass(frozen=True)
class Unanswered:
    seed: Seed
    error: EndpointError


@dataclass
class Rubrics:
    """The middle of a build: takes results in order, lays tasks down, keeps what the split needs."""

    settings: BuildSettings
    model: Endpoint
    tasks: IO[bytes]
    quarantine: IO[bytes]
    entries: list[Entry] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    faults: Counter[str] = field(default_factory=Counter)
    written: int = 0
    unanswered: int = 0
    failed_in_a_row: int = 0
    spent: BudgetSpent | None = None
    fatal: EndpointError | None = None

    async def make(self, seed: Seed) -> Made | Unanswered:
        """One seed's way. Trouble is data here: whoever takes the result decides."""
        if self.spent is not None:
            return Unanswered(seed, self.spent)
        try:
            first = await write(seed, self.model)
            if isinstance(first, Quarantined):
                return Made(seed, (), (first,))
            rest = [] if seed.whole else await decompose(first, self.settings.decompose, self.model)
        except BudgetSpent as e:
            self.spent = e
            return Unanswered(seed, e)
        except (EndpointDown, EndpointRefused) as e:
            return Unanswered(seed, e)
        tasks = (first, *(child for child in rest if isinstance(child, Task)))
        return Made(seed, tasks, tuple(child for child in rest if isinstance(child, Quarantined)))

    def take(self, result: Made | Unanswered) -> bool:
        """Keep a result; false if there is no use in going on."""
        if isinstance(result, Unanswered):
            self.unanswered += 1
            self.failed_in_a_row += isinstance(result.error, EndpointDown)
            if isinstance(result.error, EndpointRefused) or self.failed_in_a_row >= self.settings.give_up:
                self.fatal = result.error
            return self.fatal is None
        self.failed_in_a_row = 0
        quarantine = list(result.quarantined)
        for task in result.tasks:
            if task.id in self.ids:
                quarantine.append(quarantined(task, "child" if task.parent_id else "rubric", "doubled", "its id is taken"))
                continue
            self.ids.add(task.id)
            self.tasks.write(task.model_dump_json(exclude_defaults=True).encode() + b"\n")
            seed = result.seed
            self.entries.append(Entry.of(task, evaluation_only=seed.evaluation_only, held_by=seed.held_by))
        for one in quarantine:
            self.quarantine.write(one.model_dump_json(exclude_none=True).encode() + b"\n")
            self.faults[one.fault] += 1
        self.written += bool(result.tasks)
        return self._worth_going_on()

    def _worth_going_on(self) -> bool:
        """A request refused by its form is one seed's trouble, unless every request is refused so."""
        refused = {fault: count for fault, count in self.faults.items() if fault.startswith("status ")}
        if not self.written and sum(refused.values()) >= HOPELESS:
            said = f"the first {HOPELESS} requests were all refused ({', '.join(refused)})"
            self.fatal = EndpointRefused(f"{said}: see quarantine.jsonl in {self.settings.work}", status=400)
        return self.fatal is None


def run_build(arguments: list[str]) -> int:
    """The command: 0 when the file is there, 1 when the build must be run again to go on."""
    logs.start()
    settings = load(BuildSettings, arguments, command="webgym tasks build")
    if not settings.dry_run:
        read_key(settings.model.key_variable)
    with _alone(settings.work):
        seeds = prepare(
            settings.sources,
            settings.rules,
            settings.work / "seeds.jsonl",
            threshold=settings.duplicate_threshold,
            confidential=settings.confidential,
        )
        _say(*seeds.lines())
        settings.split.check_force(seeds.sources)  # before anything is paid for
        if settings.dry_run:
            model = Endpoint(settings.model)
            priced = estimate(seeds_in(seeds.path), model, settings.decompose, settings.estimate)
            _say(*priced.lines(priced=model.settings.price is not None))
            return 0
        try:
            stage = settings.work / "tasks.jsonl"
            return _conclude(settings, asyncio.run(_ask_all(settings, seeds, stage)), stage)
        except (KeyboardInterrupt, asyncio.CancelledError):
            _say("stopped      the replies that had come are stored; run the same command to go on")
            return STOPPED


async def _ask_all(settings: BuildSettings, seeds: Prepared, stage: Path) -> Rubrics:
    """Every question of the build; tasks go to the stage file, which appears whole."""
    main = asyncio.current_task()
    assert main is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
    meter = Meter(settings.model.price, settings.model.budget, settings.work / "spent.jsonl")
    with Staged(stage) as tasks, Staged(settings.work / "quarantine.jsonl") as quarantine:
        async with Endpoint(settings.model, meter=meter) as model:
            rubrics = Rubrics(settings, model, tasks, quarantine)
            await _write_rubrics(rubrics, seeds)
    return rubrics


def _conclude(settings: BuildSettings, rubrics: Rubrics, stage: Path) -> int:
    totals = rubrics.model.meter.totals
    _say(
        f"rubrics      {rubrics.written:,} written, {rubrics.unanswered:,} unanswered",
        f"quarantined  {', '.join(f'{count:,} {fault}' for fault, count in sorted(rubrics.faults.items())) or 'none'}",
        f"calls        {totals.calls:,} made, {totals.failures:,} failed, {totals.reused:,} replies reused",
        f"cost         ${totals.spent:,.4f} so far, ${totals.dollars:,.4f} of it now",
    )
    try:
        if rubrics.unanswered or rubrics.fatal:
            error = rubrics.fatal or rubrics.spent
            _say(f"not done     {error or 'the endpoint failed for some'}; run the same command to go on")
            return INCOMPLETE
        counts = finish(stage, settings.out, rubrics.entries, settings.split)
    finally:
        stage.unlink()
    _say(f"written      {settings.out}: {counts['train']:,} train, {counts['test']:,} test; {counts['dropped']:,} dropped")
    return 0


async def _write_rubrics(rubrics: Rubrics, seeds: Prepared) -> None:
    meter = rubrics.model.meter

    def cost(done: int) -> str:
        spent = meter.totals.spent
        return f"${spent:,.2f} so far, about ${spent * seeds.count / max(done, 1):,.2f} in all"

    with Bar("rubrics", seeds.count, cost) as bar:

        def take(result: Made | Unanswered) -> bool:
            bar.advance()
            return rubrics.take(result)

        width = max(64, 8 * rubrics.settings.endpoint.concurrency)
        await in_order(seeds_in(seeds.path), rubrics.make, take, width=width)
    if rubrics.fatal is not None:
        log.error("stopped: %s", rubrics.fatal)


def finish(stage: Path, out: Path, entries: list[Entry], settings: SplitSettings) -> Counter[Place]:
    """Split, write, read back and check; only then does the file get its name."""
    placed = split(entries, settings)
    unchecked = out.with_name(f".unchecked.{out.name}")
    try:
        write_tasks(unchecked, _placed(stage, placed))
        held_out = {entry.id: entry.held_by for entry in entries if entry.evaluation_only}
        with TaskFile.open(unchecked) as file:
            check(_written(file, held_out), settings)
        unchecked.replace(out)
    finally:
        unchecked.unlink(missing_ok=True)
    return Counter(placed)


def _placed(stage: Path, placed: list[Place]) -> Iterator[Task]:
    with stage.open("rb") as lines:
        for line, place in zip(lines, placed, strict=True):
            if place != "dropped":
                task = Task.model_validate_json(line)
                yield task if task.split == place else task.model_copy(update={"split": place})


def _written(file: TaskFile, held_out: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Entry, Split]]:
    """What the split promises about, as the file has it; the rest of a task is not read."""
    names = ("id", "website", "difficulty", "parent_id", "source", "split")
    for table in file.read_columns(*names):
        columns = (table.column(name).to_pylist() for name in names)
        for name, website, difficulty, parent, source, side in zip(*columns, strict=True):
            held_by = held_out.get(name, ())
            yield Entry(name, website, band_of(difficulty), parent, name in held_out, source, held_by), side


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """One build at a time in a work folder."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise ConfigError(f"another build is at work in {work}") from e
        yield


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
