"""The sources by name, and reading from them: `read_seeds` counts and skips broken rows, `read_source` hands them out."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from webgym.errors import ConfigError
from webgym.tasks.rows import BrokenRow
from webgym.tasks.seed import Seed
from webgym.tasks.sources.agentsynth import AgentSynth
from webgym.tasks.sources.browsecomp import BrowseComp
from webgym.tasks.sources.deepshop import DeepShop
from webgym.tasks.sources.gaia import GaiaWeb
from webgym.tasks.sources.insta import Insta
from webgym.tasks.sources.mind2web import Mind2Web
from webgym.tasks.sources.mind2web2 import Mind2Web2
from webgym.tasks.sources.mind2web_live import Mind2WebLive
from webgym.tasks.sources.nnetnav import NNetNav
from webgym.tasks.sources.offline_web import OfflineWeb
from webgym.tasks.sources.online_mind2web import OnlineMind2Web
from webgym.tasks.sources.pae import PaeWebVoyager
from webgym.tasks.sources.source import Source, slug
from webgym.tasks.sources.travelplanner import TravelPlanner
from webgym.tasks.sources.webarena import VisualWebArena, WebArena
from webgym.tasks.sources.webgym import WebGym
from webgym.tasks.sources.webvoyager import WebVoyager

__all__ = ["SOURCES", "BrokenRow", "Intake", "Source", "find", "read_seeds", "read_source"]

_KINDS: tuple[type[Source], ...] = (
    Insta,
    PaeWebVoyager,
    AgentSynth,
    BrowseComp,
    TravelPlanner,
    Mind2WebLive,
    OnlineMind2Web,
    DeepShop,
    Mind2Web2,
    GaiaWeb,
    WebVoyager,
    WebArena,
    VisualWebArena,
    Mind2Web,
    NNetNav,
    OfflineWeb,
)
SOURCES: dict[str, Source] = {slug(kind.name): kind() for kind in _KINDS}
SOURCES[slug(WebGym.name)] = WebGym(SOURCES)
_LISTED = 1_000

log = logging.getLogger(__name__)


@dataclass
class Intake:
    """What a reading met. All broken rows are counted, the first thousand are kept."""

    read: int = 0
    broken: int = 0
    rows: list[BrokenRow] = field(default_factory=list)


def find(name: str) -> Source | None:
    """The source of a name, whatever its case."""
    return SOURCES.get(slug(name))


def read_source(name: str, path: str | Path) -> Iterator[Seed | BrokenRow]:
    """Every row of a source's file, or of a hub dataset (`hf:owner/name:split`)."""
    source = find(name)
    if source is None:
        raise ConfigError(f"there is no source {name!r}; choose from {', '.join(SOURCES)}")
    return source.read(path)


def read_seeds(name: str, path: str | Path, report: Intake) -> Iterator[Seed]:
    """The good rows; broken ones are logged and go into the report."""
    for row in read_source(name, path):
        if isinstance(row, BrokenRow):
            report.broken += 1
            if len(report.rows) < _LISTED:
                report.rows.append(row)
                log.warning("skipped a broken row: %s", row)
        else:
            report.read += 1
            yield row
