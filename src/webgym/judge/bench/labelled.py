"""Labelled runs: ordinary run folders whose `run.json` names the judge whose word is the truth.

The truth of an episode is the latest judgement of that judge, if it is scored. So a labelled run is read, audited, watched
and judged like any other, and what made it (the offline web, an outside set) is of no concern to a bench.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webgym.errors import ConfigError
from webgym.store import Run
from webgym.types import Episode, Scored

TRUTH = "truth"  # the name under which a run's settings say whose word counts


@dataclass(frozen=True)
class Labelled:
    """An episode and what is true of it."""

    episode: Episode
    truth: Scored


def truth_of(run: Run) -> str:
    """The identity of the judge whose word is the truth in this run."""
    name = run.info.settings.get(TRUTH)
    if not isinstance(name, str) or not name:
        raise ConfigError(
            f"{run.path} has no truth: `webgym judge bench` makes a labelled run, `webgym judge import` brings one"
        )
    return name


def labelled(run: Run) -> Iterator[Labelled]:
    """Every episode of a run that has a truth, one at a time. Blocks on the disk."""
    truths = run.latest_judgements(truth_of(run))
    for episode in run.episodes():
        judgement = truths.get(episode.id)
        if judgement is not None and isinstance(judgement.verdict, Scored):
            yield Labelled(episode, judgement.verdict)


def count(run: Run) -> int:
    """How many episodes have a truth."""
    truths = run.latest_judgements(truth_of(run)).values()
    return sum(isinstance(one.verdict, Scored) for one in truths)
