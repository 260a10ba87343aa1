"""How each episode ended: a log of events, and the one terminal record per episode that follows from it.

    ended         the terminal record; `stored` says that there is an episode file
    withdrawn     a record without a file is taken back, so that the episode may be attempted again
    quarantined   the episode file was damaged; from then on the episode has failed. What was said of it is void once it is
                  attempted again

Invariant: between live processes everything happens under the run's lock, so the first record of an episode is its only
one. A crash can come between an episode file and its record, never the other way round: the file wins, and whoever opens
the run next writes the missing record.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from webgym.store.log import Garbage, Log
from webgym.types import EpisodeId, Infra, Outcome, Wire


class Ended(Wire):
    event: Literal["ended"] = "ended"
    episode: EpisodeId
    outcome: Outcome
    stored: bool
    at: float


class Withdrawn(Wire):
    event: Literal["withdrawn"] = "withdrawn"
    episode: EpisodeId
    reason: str
    at: float


class Quarantined(Wire):
    event: Literal["quarantined"] = "quarantined"
    episode: EpisodeId
    reason: str
    at: float


Event = Annotated[Ended | Withdrawn | Quarantined, Field(discriminator="event")]
EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class Record:
    """An episode's terminal record: how it ended, and whether there is an episode file."""

    outcome: Outcome
    stored: bool
    at: float
    quarantined: bool = False


class Ledger:
    """The terminal records of a run, kept up with its log. Equal outcomes are held once."""

    def __init__(self, log: Log[Event]) -> None:
        self.log = log
        self.records: dict[str, Record] = {}
        self.begun_anew: dict[str, float] = {}  # when episodes whose files were damaged were given another attempt
        self.doubled: list[str] = []  # episodes with a second record while the first stood
        self.garbage: list[bytes] = []
        self._outcomes: dict[Outcome, Outcome] = {}
        self._reading = threading.Lock()

    def refresh(self) -> None:
        """Take in what the log has gained."""
        with self._reading:
            added = self.log.added()
            if added.anew:
                self.records.clear()
                self.begun_anew.clear()
                self.doubled.clear()
                self.garbage.clear()
            for event in added.records:
                if isinstance(event, Garbage):
                    self.garbage.append(event.line)
                else:
                    self.apply(event)

    def snapshot(self) -> dict[str, Record]:
        """Every terminal record, as of now."""
        self.refresh()
        with self._reading:
            return dict(self.records)

    def apply(self, event: Event) -> None:
        match event:
            case Ended():
                if event.episode in self.records:
                    self.doubled.append(event.episode)
                    return
                outcome = self._outcomes.setdefault(event.outcome, event.outcome)
                self.records[event.episode] = Record(outcome, event.stored, event.at)
            case Withdrawn():
                record = self.records.pop(event.episode, None)
                if record is not None and record.quarantined:
                    self.begun_anew[event.episode] = event.at
            case Quarantined():
                self.records[event.episode] = Record(Infra(reason=event.reason), stored=False, at=event.at, quarantined=True)
