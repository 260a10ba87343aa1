"""The oracle: solves a task by pixels, through the same steps any agent takes. And two agents that must fail.

It knows the task's route, but not the page: it looks at the marks and the outline of what is on screen, scrolls until what
the route names is there, clicks the middle of its box, types, chooses. So an episode of it proves that a task can be solved
from the screen, and is a demonstration. Screenshots are taken without marks; those are asked for apart. A play that need not
be a demonstration does without pictures: it acts on the same boxes and looks once a step, which is much quicker.

`do_nothing` answers at once with nothing in hand; `wrong_answer` goes the way and answers with other values, or claims to
have done what it has not. Both prove that the check can fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Literal, Protocol, assert_never

from webgym import types as t
from webgym.errors import WebGymError
from webgym.worlds import route as r
from webgym.worlds.checks import Reached, Says, contains, number, plain
from webgym.worlds.tasks import WorldTask

MAX_STEPS: Final = 500
EDGE: Final = 4.0  # pixels from the left
DISMISS: Final = ("accept all", "close")
_SEEN: Final = t.Look(accessibility=True)
_MARKED: Final = t.Look(image="none", marks=True)
_BLIND: Final = t.Look(image="none", marks=True, accessibility=True)
_FIELDS: Final = ("textbox", "searchbox", "spinbutton")
_BUTTONS: Final = ("button", "tab")
Agent = Literal["oracle", "do_nothing", "wrong_answer"]
Wanted = Callable[[t.Mark], bool]


class Lost(WebGymError):
    """The oracle did not find what its route names: the site or the route is wrong."""


class Hands(Protocol):
    """A session of the rollout server, or anything that acts and looks as one does."""

    async def step(self, action: t.Action, look: t.Look | None = None) -> t.Observation: ...

    async def observe(self, look: t.Look | None = None) -> t.Observation: ...


@dataclass
class Play:
    """One episode in the making."""

    hands: Hands
    port: int
    seen: t.Observation
    marks: tuple[t.Mark, ...] = ()
    steps: list[t.Step] = field(default_factory=list)
    answer: str | None = None
    pictures: bool = True

    @property
    def height(self) -> float:
        return float(self.seen.screenshot.height) if self.seen.screenshot else 600.0

    async def look(self) -> None:
        seen = await self.hands.observe(_MARKED) if self.pictures else self.seen
        self.marks = seen.marks or ()

    async def act(self, action: t.Action) -> None:
        """Do one thing and note it as a step, with what was seen before."""
        if len(self.steps) >= MAX_STEPS:
            raise Lost(f"no end in {MAX_STEPS} steps")
        before, self.seen = self.seen, await self.hands.step(action, _SEEN if self.pictures else _BLIND)
        shot = before.screenshot.sha256 if before.screenshot else None
        error = self.seen.action_error or self.seen.navigation_error
        self.steps.append(
            t.Step(
                index=len(self.steps),
                screenshot=shot,
                url=before.url,
                title=before.title,
                visible=before.accessibility,
                action=action,
                error=error,
                unchanged=self.seen.unchanged,
            )
        )
        if error is not None:
            raise Lost(f"{action.kind}: {error}")
        if action.kind != "answer":
            await self.look()

    async def dismiss(self) -> None:
        """Answer cookie banners and close dialogs that lie over the page."""
        for _ in range(3):
            mark = next((mark for mark in self.marks if mark.role == "button" and plain(mark.name) in DISMISS), None)
            if mark is None:
                return
            await self.act(_click(mark))

    async def scroll(self, by: float) -> bool:
        """Whether the page moved. What lies in its middle may keep the wheel to itself, as maps do: then at its edge."""
        before = self.seen.scroll.y
        await self.act(t.Scroll(dy=by))
        if self.seen.scroll.y == before and (before > 0 if by < 0 else before + self.height < self.seen.scroll.height - 1):
            await self.act(t.Scroll(dy=by, x=EDGE, y=self.height / 2))
        return self.seen.scroll.y != before

    async def find(self, what: str, wanted: Wanted, *, at_top: bool = False) -> t.Mark:
        """The first mark that fits: on screen, further down, from the top, and then behind what can be opened."""
        if at_top and self.seen.scroll.y > 0:
            await self.scroll(-100_000)
        if (mark := await self.sweep(wanted)) is not None:
            return mark
        for opener in ("filters", "menu"):
            if (way := await self.sweep(_named(("button",), opener))) is None:
                continue
            await self.act(_click(way))
            if (mark := await self.sweep(wanted)) is not None:
                return mark
        raise Lost(f"{what} is nowhere on {self.seen.url}")

    async def sweep(self, wanted: Wanted) -> t.Mark | None:
        """The first mark that fits: on screen, further down, then from the top down once more."""
        for again in (True, False):
            while True:
                await self.dismiss()
                if (mark := next(filter(wanted, self.marks), None)) is not None:
                    return mark
                if not await self.scroll(self.height * 0.6):
                    break
            if again and not await self.scroll(-100_000):
                break
        return None

    async def see(self, texts: tuple[str, ...]) -> None:
        """Scroll until every text has been on screen."""
        missing = list(texts)
        for sweep in range(2):
            while True:
                await self.dismiss()
                outline = plain(self.seen.accessibility or "")
                missing = [text for text in missing if not contains(outline, text)]
                if not missing:
                    return
                if not await self.scroll(self.height * 0.6):
                    break
            if sweep == 0 and not await self.scroll(-100_000):
                break
        raise Lost(f"{missing} never on screen at {self.seen.url}")

    async def move(self, move: r.Move) -> None:
        match move:
            case r.Go():
                await self.act(t.Navigate(url=f"http://{move.host}:{self.port}{move.path}"))
            case r.Search():
                box = await self.find("the search field", lambda m: m.role == "searchbox", at_top=True)
                await self.act(t.Type(**_middle(box), text=move.text, clear=True, enter=True))
            case r.Open():
                await self.act(_click(await self.find(f"link {move.name!r}", _named(("link",), move.name))))
            case r.Press():
                await self.act(_click(await self.find(f"button {move.name!r}", _named(_BUTTONS, move.name))))
            case r.Fill():
                box = await self.find(f"field {move.label!r}", _named(_FIELDS, move.label))
                await self.act(t.Type(**_middle(box), text=move.text, clear=True))
            case r.Tick():
                await self.act(_click(await self.find(f"box {move.label!r}", _named(("checkbox",), move.label))))
            case r.Choose():
                await self.choose(_named(("combobox",), move.label), _named(("radio",), move.option), move.option)
            case r.Filter():
                await self.choose(_named(("combobox",), move.name), _named(("link",), move.option), move.option)
            case r.SortBy():
                box = await self.find("the order", _named(("combobox",), "Sort by"))
                await self.act(t.Select(**_middle(box), options=(move.name,)))
            case r.Slide():
                await self.slide(move.label, move.value)
            case r.See():
                await self.see(move.texts)
            case _:
                assert_never(move)

    async def choose(self, lists: Wanted, single: Wanted, option: str) -> None:
        mark = await self.find(f"option {option!r}", lambda m: lists(m) or single(m))
        if mark.role == "combobox":
            await self.act(t.Select(**_middle(mark), options=(option,)))
        else:
            await self.act(_click(mark))

    async def slide(self, label: str, value: float) -> None:
        """Click the slider, then see how far an arrow key moves it, and press that as often as needed."""
        await self.act(_click(await self.find(f"slider {label!r}", _named(("slider",), label))))
        before = self._slider(label)
        key = "ArrowRight" if before < value else "ArrowLeft"
        if before == value:
            return
        await self.act(t.Key(keys=(key,)))
        unit = abs(self._slider(label) - before)
        presses = round(abs(value - self._slider(label)) / unit) if unit else 0
        while presses > 0:
            await self.act(t.Key(keys=(key,) * min(presses, 60)))
            presses -= 60
        if self._slider(label) != value:
            raise Lost(f"slider {label!r} is at {self._slider(label):g}, not {value:g}")

    def _slider(self, label: str) -> float:
        found = re.search(rf'slider "{re.escape(label)}[^"]*" \(value "(-?[\d.]+)"', self.seen.accessibility or "")
        if found is None:
            raise Lost(f"slider {label!r} is not on screen")
        return float(found.group(1))


async def play(hands: Hands, task: WorldTask, port: int, agent: Agent = "oracle", *, pictures: bool = True) -> Play:
    """Play a task from the page that is open. Raises Lost if the oracle cannot go on."""
    playing = Play(hands, port, await hands.observe(_SEEN if pictures else _BLIND), pictures=pictures)
    await playing.look()
    claims = any(isinstance(check, Reached) for group in task.groups for fact in group.facts for check in fact.checks)
    if agent == "oracle" or (agent == "wrong_answer" and not claims):
        for move in task.route:
            await playing.move(move)
    playing.answer = {"oracle": task.answer, "do_nothing": "", "wrong_answer": wrong(task)}[agent]
    await playing.act(t.Answer(text=playing.answer))
    return playing


def wrong(task: WorldTask) -> str:
    """Another value for each that the answer must say, and no more words: it is the check that is tried, not a judge."""
    said = []
    for group in task.groups:
        for fact in group.facts:
            for check in fact.checks:
                if isinstance(check, Says):
                    value = number(check.text)
                    said.append("something else" if value is None else f"{value + 1:g}")
    return "; ".join(said) or "Done"


def as_episode(
    played: Play, task: t.Task, state: dict[str, str], *, agent: Agent, started: float, ended: float
) -> t.Episode:
    """The episode of a play, as a rollout would have written it. `state` is `state.by_host` of the session's cookies."""
    shot = played.seen.screenshot
    return t.Episode(
        id=blake2b(f"{task.id} {agent} {started}".encode(), digest_size=16).hexdigest(),
        run="oracle",
        iteration=0,
        task=task,
        agent=agent,
        width=shot.width if shot else 0,
        height=shot.height if shot else 0,
        steps=tuple(played.steps),
        final_screenshot=shot.sha256 if shot else None,
        final_url=played.seen.url,
        final_visible=played.seen.accessibility,
        answer=played.answer,
        state=state,
        outcome=t.Answered(),
        started=started,
        ended=ended,
    )


def _click(mark: t.Mark) -> t.Click:
    return t.Click(**_middle(mark))


def _middle(mark: t.Mark) -> dict[Literal["x", "y"], float]:
    return {"x": mark.box.x + mark.box.width / 2, "y": mark.box.y + mark.box.height / 2}


def _named(roles: tuple[str, ...], name: str) -> Wanted:
    """Marks of these roles called so; more may follow the name, but no more of its last word."""
    wanted = plain(name)
    pattern = re.compile(rf"{re.escape(wanted)}(?![\w-])")
    return lambda mark: mark.role in roles and pattern.match(plain(mark.name)) is not None
