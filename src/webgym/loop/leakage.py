"""Train and test must be apart by website, or nothing starts.

The check reads the task files themselves, two columns of each, whatever made them: a test set from another file may share
websites with the training set although each file alone is sound. What a task names is not all that its agent sees: a task
may name no website, and an agent may follow a link to any. So pages are held against the test set too, by their addresses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from webgym.errors import LeakageError
from webgym.tasks.files import TaskFile
from webgym.tasks.websites import canonical_origin, site
from webgym.types import Split

_SHOWN: Final = 3


def check_apart(train: Path, test: Path) -> frozenset[str]:
    """The websites of the test set, none of which any training task names. Blocks."""
    trained, tested = websites(train, "train"), websites(test, "test")
    if shared := sorted(trained & tested):
        shown = ", ".join(shared[:_SHOWN]) + (f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else "")
        raise LeakageError(
            f"{len(shared)} websites have training tasks in {train} and test tasks in {test}: {shown}. A test on a website "
            "that was trained on measures nothing: split the tasks by website (`webgym tasks build` does)"
        )
    return frozenset(tested)


def websites(path: Path, split: Split) -> set[str]:
    """The websites that the tasks of a split name."""
    found: set[str] = set()
    with TaskFile.open(path) as file:
        for table in file.read_columns("website", "split"):
            names, splits = table.column("website").to_pylist(), table.column("split").to_pylist()
            found.update(site(name) for name, one in zip(names, splits, strict=True) if name and one == split)
    return found


def lies_on(address: str, tested: Collection[str]) -> bool:
    """Whether the page of an address is on one of these websites."""
    page = address.removeprefix("blob:").removeprefix("view-source:")  # either is a page of the address that follows
    return site(canonical_origin("/".join(page.split("/", 3)[:3]))) in tested


def task_ids(path: Path, split: Split) -> Iterator[str]:
    """The ids of a split's tasks."""
    with TaskFile.open(path) as file:
        for table in file.read_columns("id", "split"):
            ids, splits = table.column("id").to_pylist(), table.column("split").to_pylist()
            yield from (name for name, one in zip(ids, splits, strict=True) if one == split)
