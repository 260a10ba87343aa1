"""What asking has cost, and the budget that stops it.

Invariant: spent + reserved never exceeds the budget. A call reserves the most it can cost before it is made; afterwards its
reservation is replaced by what the provider counted. A call that was made and whose count never came (no answer in time, a
body that cannot be read) is charged its whole reservation, since the provider may have charged for it.

With a ledger the budget covers a job and not a process: every charge is a line of the file, read again at the next start.
A line torn by a kill is skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from webgym.endpoint.settings import Price
from webgym.errors import BudgetSpent


@dataclass(frozen=True)
class Usage:
    """Tokens of one call."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output)

    def dollars(self, price: Price | None) -> float:
        return 0.0 if price is None else (self.input * price.input + self.output * price.output) / 1e6


@dataclass(frozen=True)
class Totals:
    """The meter's reading. `earlier` is what the ledger held at the start; the rest is of this process."""

    calls: int = 0
    failures: int = 0
    reused: int = 0
    usage: Usage = Usage()
    dollars: float = 0.0
    earlier: float = 0.0

    @property
    def spent(self) -> float:
        return self.dollars + self.earlier


class Charge:
    """A reservation. Leaving it unsettled charges all of it; `void` charges nothing."""

    def __init__(self, most: Usage) -> None:
        self.usage = most
        self.counted = True

    def settle(self, usage: Usage) -> None:
        self.usage = usage

    def void(self) -> None:
        """The endpoint turned the request away, so it cost nothing."""
        self.counted = False


class Meter:
    """Counts what is spent on one model; shared by everyone who asks it."""

    def __init__(self, price: Price | None, budget: float | None = None, ledger: Path | None = None) -> None:
        self._price, self._budget, self._ledger = price, budget, ledger
        self._reserved = 0.0
        self._calls = self._failures = self._reused = 0
        self._usage, self._dollars = Usage(), 0.0
        self._earlier = _read(ledger) if ledger is not None else 0.0

    @property
    def totals(self) -> Totals:
        return Totals(self._calls, self._failures, self._reused, self._usage, self._dollars, self._earlier)

    def reuse(self) -> None:
        """A stored reply served."""
        self._reused += 1

    @contextmanager
    def call(self, most: Usage) -> Iterator[Charge]:
        """One call, refused if it could cost more than is left."""
        price = most.dollars(self._price)
        committed = self._earlier + self._dollars + self._reserved
        if self._budget is not None and committed + price > self._budget:
            raise BudgetSpent(
                f"a call may cost {price:.4f} dollars, and of the budget of {self._budget:g} "
                f"{committed:.4f} are spent or promised"
            )
        self._reserved += price
        charge = Charge(most)
        try:
            yield charge
        except BaseException:
            self._failures += 1
            raise
        finally:
            self._reserved -= price
            if charge.counted:
                self._charge(charge.usage)

    def _charge(self, usage: Usage) -> None:
        dollars = usage.dollars(self._price)
        self._calls += 1
        self._usage += usage
        self._dollars += dollars
        if self._ledger is not None:
            line = json.dumps({"input": usage.input, "output": usage.output, "dollars": dollars})
            with self._ledger.open("ab") as file:
                # A torn line of an earlier kill must not swallow this one: a line starts with its own line feed.
                os.write(file.fileno(), f"\n{line}".encode())


def _read(ledger: Path) -> float:
    try:
        lines = ledger.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return 0.0
    return sum(map(_dollars, lines))


def _dollars(line: str) -> float:
    try:
        found = json.loads(line)["dollars"]
    except (ValueError, KeyError, TypeError):
        return 0.0
    return float(found) if isinstance(found, int | float) and 0 <= found < float("inf") else 0.0
