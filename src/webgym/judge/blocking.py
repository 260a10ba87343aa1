"""Whether a website refused an episode, as far as cheap signs tell; the model is asked only about the rest.

    blocked   what was last on screen certainly refuses automation, or the rollout has said so
    ask       a refusal is suspected, or was passed on the way without the episode being known to have got around it
    clear     nothing looks like a refusal: no model need be asked

A refusal that was left behind for ordinary pages of the same website does not block an episode: challenges are passed, and
single pages refuse robots while the rest of the website does not. What an episode keeps of a page is its address, its title
and, if it was asked for, its outline; the status is seen by the rollout alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from webgym.refusals import Finding, Page, find_refusal
from webgym.types import Episode, Sha256

Standing = Literal["blocked", "ask", "clear"]


@dataclass(frozen=True)
class Suspect:
    """A look at a page that seems to refuse: the step that began there; the number of steps stands for the last look."""

    step: int
    screenshot: Sha256 | None
    finding: Finding


@dataclass(frozen=True)
class Blocking:
    """What is known without a model, and by what."""

    standing: Standing
    suspects: tuple[Suspect, ...] = ()
    reason: str = ""
    at_the_end: bool = False  # what was last on screen is the last suspect


def look_for_blocking(episode: Episode) -> Blocking:
    """What the stored episode says about being refused."""
    suspects = tuple(_suspects(episode))
    if episode.outcome.kind == "blocked":
        return Blocking("blocked", suspects, episode.outcome.reason)
    if not suspects:
        return Blocking("clear")
    last = suspects[-1]
    at_the_end = last.step == len(episode.steps)
    standing: Standing = "blocked" if at_the_end and last.finding.strength == "certain" else "ask"
    return Blocking(standing, suspects, last.finding.reason, at_the_end)


def _suspects(episode: Episode) -> list[Suspect]:
    looks = [(Page(step.url, step.title, text=step.visible), step.screenshot) for step in episode.steps]
    looks.append((_last_page(episode), episode.final_screenshot))
    found = ((place, shot, find_refusal(page)) for place, (page, shot) in enumerate(looks))
    return [Suspect(place, shot, finding) for place, shot, finding in found if finding is not None]


def _last_page(episode: Episode) -> Page:
    """An episode keeps no title of what it saw last; it is known if the last step began on the same page."""
    steps = episode.steps
    title = steps[-1].title if steps and steps[-1].url == episode.final_url else ""
    return Page(episode.final_url, title, text=episode.final_visible)
