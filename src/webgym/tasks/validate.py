"""The rules a task file keeps. Every breach is named with file and line (the row, counted from one, in Parquet).

A row must be a task; ids are unique; difficulty is the number of facts and at least one; domain and subdomain are the
taxonomy's; no fact is empty or said twice; a website is a canonical origin; no site of a test task has a train task. Ids
and sites are compared over all files given, so a train and a test file are checked together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from webgym.tasks.columns import SCHEMA
from webgym.tasks.files import TaskFile
from webgym.tasks.record import FIELDS, from_record, split_of
from webgym.tasks.rows import BrokenRow, Misfit, Row, read_rows
from webgym.tasks.taxonomy import mistake
from webgym.tasks.websites import canonical_origin, site
from webgym.types import Split, Task


@dataclass(frozen=True)
class Breach:
    file: str
    line: int | None
    rule: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line or '?'}: {self.rule}"


@dataclass(frozen=True)
class Candidate:
    """A row to be checked: what it says, before it is taken for a task."""

    file: str
    line: int
    id: str
    website: str
    domain: str
    subdomain: str
    split: Split
    difficulty: object
    groups: object


@dataclass
class Ledger:
    """What has to be remembered across rows and files."""

    checked: int = 0
    ids: dict[str, tuple[str, int]] = field(default_factory=dict)
    train_sites: dict[str, tuple[str, int]] = field(default_factory=dict)
    test_sites: dict[str, tuple[str, int]] = field(default_factory=dict)


def breaches(paths: Iterable[Path]) -> Iterator[Breach]:
    """Every breach in these files, those within rows first, then those between splits."""
    ledger = Ledger()
    yield from check(candidates(paths), ledger)
    yield from leaks(ledger)


def check(rows: Iterable[Candidate | Breach], ledger: Ledger) -> Iterator[Breach]:
    for row in rows:
        ledger.checked += 1
        if isinstance(row, Breach):
            yield row
            continue
        for rule in _broken_rules(row, ledger):
            yield Breach(row.file, row.line, rule)


def leaks(ledger: Ledger) -> Iterator[Breach]:
    """Test tasks whose site also has a train task."""
    for name, (file, line) in ledger.test_sites.items():
        if name in ledger.train_sites:
            other, where = ledger.train_sites[name]
            yield Breach(file, line, f"a test task on {name}, which has a train task at {other}:{where}")


def candidates(paths: Iterable[Path]) -> Iterator[Candidate | Breach]:
    for path in paths:
        yield from _parquet_rows(path) if path.suffix.lower() == ".parquet" else _record_rows(path)


def _record_rows(path: Path) -> Iterator[Candidate | Breach]:
    split = split_of(path)
    for row in read_rows(path, ("jsonl",)):
        if isinstance(row, BrokenRow):
            yield Breach(row.file, row.line, row.reason)
            continue
        try:
            task = from_record(row, split=split)
        except Misfit as e:
            yield Breach(row.file, row.line, str(e))
            continue
        except ValidationError as e:
            yield Breach(row.file, row.line, _first(e))
            continue
        missing = [name for name in FIELDS if name not in row.values]
        if missing:
            yield Breach(row.file, row.line, f"without {', '.join(missing)}")
        # What the record says, not what a lenient reading made of it.
        yield Candidate(
            row.file,
            row.line,
            task.id,
            row.maybe("website"),
            row.maybe("domain"),
            row.maybe("subdomain"),
            split,
            row.values.get("difficulty"),
            _said(row, task),
        )


def _said(row: Row, task: Task) -> object:
    reference = row.values.get("evaluator_reference")
    return reference if isinstance(reference, list) else [group.model_dump() for group in task.groups]


def _parquet_rows(path: Path) -> Iterator[Candidate | Breach]:
    number = 0
    with TaskFile.open(path) as file:
        for table in file.read_columns(*SCHEMA.names):
            for values in table.to_pylist():
                number += 1
                try:
                    task = Task.model_validate({name: value for name, value in values.items() if name != "difficulty"})
                except ValidationError as e:
                    yield Breach(path.name, number, _first(e))
                    continue
                yield Candidate(
                    path.name,
                    number,
                    task.id,
                    task.website,
                    task.domain,
                    task.subdomain,
                    task.split,
                    values["difficulty"],
                    values["groups"],
                )


def _broken_rules(row: Candidate, ledger: Ledger) -> Iterator[str]:
    here = (row.file, row.line)
    first = ledger.ids.setdefault(row.id, here)
    if first != here:
        yield f"id {row.id!r} is already at {first[0]}:{first[1]}"
    facts = list(_facts(row.groups))
    if row.difficulty != len(facts):
        yield f"difficulty {row.difficulty!r} but {len(facts)} facts"
    if not facts:
        yield "no facts"
    seen: dict[str, int] = {}
    for number, fact in enumerate(facts, 1):
        words = " ".join(fact.casefold().split())
        if not words:
            yield f"fact {number} is empty"
        elif seen.setdefault(words, number) != number:
            yield f"fact {number} repeats fact {seen[words]}"
    if wrong := mistake(row.domain, row.subdomain):
        yield wrong
    origin = canonical_origin(row.website)
    if row.website and origin != row.website:
        yield f"website {row.website!r} is not canonical" + (f", {origin!r} is" if origin else "")
    if origin:
        (ledger.test_sites if row.split == "test" else ledger.train_sites).setdefault(site(origin), here)


def _facts(groups: object) -> Iterator[str]:
    """Facts as written, empty ones too."""
    if not isinstance(groups, list | tuple):
        return
    for group in groups:
        if isinstance(group, str):
            yield group
        elif isinstance(group, dict):
            facts = group.get("facts")
            yield from (fact if isinstance(fact, str) else "" for fact in (facts if isinstance(facts, list | tuple) else ()))


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
