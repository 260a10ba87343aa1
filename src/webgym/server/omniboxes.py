"""The API of the first public WebGym, for clients that already speak it, on the master's address. docs/omniboxes.md maps it.

    POST /get         ?lifetime_mins=60                            → Instance
    POST /reset       Instance, as query or JSON                   → {"status": "success"}; the instance is gone
    GET  /screenshot  ?instance_id=&node=&interaction_mode=        → image/png
    POST /execute     Instance and exactly one command, as JSON    → what the command answers
    GET  /metadata    ?instance_id=&node=                          → Viewport
    GET  /probe       ?instance_id=&node=                          → {"status": "success"}
    GET  /info                                                     → Info

Invariants: nothing is kept here, every call becomes calls of version 1 on the worker. An instance id is a session's id and
its lease; a node is a worker's id, looked up in the registry, so nothing a client sends becomes an address. What the agent
did in vain is a 200 with `"status": "failed"`; whatever is not the agent's doing is an error status.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

import msgspec
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StringConstraints, model_validator

from webgym import types as t
from webgym.errors import BadRequest, Overloaded, ServerError, Unavailable, UnknownSession, from_code
from webgym.server import keyboard
from webgym.server.http import describe
from webgym.server.protocol import (
    LEASE_HEADER,
    MSGPACK,
    SESSIONS,
    ErrorBody,
    ErrorDetail,
    Lease,
    NewSession,
    Renew,
    SessionStarted,
    StepRequest,
    StepResult,
    Viewport,
)

if TYPE_CHECKING:
    from webgym.server.master import Answer, Master
    from webgym.server.registry import Member

VIEWPORT = Viewport()
LONGEST_MINUTES = 24 * 60
DEFAULT_MINUTES = 60.0
STRIDE = 200.0  # pixels of a scroll that does not say how far
CORNER = {"x": 10.0, "y": 10.0}  # the wheel turns here for the page itself, away from boxes that scroll on their own
BLIND = t.Look(image="none")
INSTANCE_ID = re.compile(r"(s-[0-9a-f]{24})\.([A-Za-z0-9_-]{1,128})")

Mode = Literal["coordinates", "set_of_marks"]
Model = TypeVar("Model", bound=BaseModel)


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


Direction = Annotated[Literal["up", "down", "left", "right"], BeforeValidator(lambda v: v.lower() if isinstance(v, str) else v)]
Amount = Annotated[float, Field(ge=0, le=100_000, description="pixels")]
Texts = Annotated[tuple[t.Text, ...], BeforeValidator(_listed), Field(max_length=100)]
KeyNames = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=40)], ...],
    BeforeValidator(_listed),
    Field(min_length=1, max_length=16),
]


# What is answered


class Instance(BaseModel):
    """Exactly these two: clients send all they got back with every command."""

    instance_id: str
    node: str


class Outcome(BaseModel):
    status: Literal["success", "failed", "screenshot_taken"] = "success"
    reason: str | None = Field(None, description="Why the action had no effect, for the agent to read.")
    navigation_error: str | None = Field(None, description="What the browser could not load and why.")


class Node(BaseModel):
    url: str
    hash: str = Field(description="The `node` of its instances.")
    healthy: bool
    capacity: int
    available: int
    instances: tuple[str, ...] = Field(description="Without their leases: to be counted, not to be used.")


class Info(BaseModel):
    nodes: tuple[Node, ...]


class Refusal(ErrorBody):
    detail: str


class PageText(BaseModel):
    text: str


class PageMetadata(BaseModel):
    title: str
    url: str
    status: int | None
    scroll: t.ScrollPosition
    navigation_error: str | None


class Rect(t.Box):
    left: float
    top: float
    right: float
    bottom: float


class Region(BaseModel):
    role: str
    name: str
    aria_name: str
    tag_name: str = Field(description="The role again: version 1 does not tell tags.")
    v_scrollable: bool = False
    rects: tuple[Rect, ...]


class Regions(RootModel[dict[str, Region]]):
    pass


class ScreenshotInfo(BaseModel):
    visible_rects: tuple[str, ...]
    rects_above: tuple[str, ...] = ()
    rects_below: tuple[str, ...] = ()
    interactive_regions: dict[str, Region]
    id_mapping: dict[str, str]


def _region(mark: t.Mark) -> Region:
    box = mark.box
    edges = {"left": box.x, "top": box.y, "right": box.x + box.width, "bottom": box.y + box.height}
    rect = Rect(**box.model_dump(), **edges)
    return Region(role=mark.role, name=mark.name, aria_name=mark.name, tag_name=mark.role, rects=(rect,))


def _regions(seen: t.Observation) -> dict[str, Region]:
    return {str(mark.id): _region(mark) for mark in seen.marks or ()}


# Commands


class Arguments(BaseModel):
    """Unlike version 1, keys that mean nothing here are ignored: old clients send some. Numbers may stand for text."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, coerce_numbers_to_str=True)


class Act(Arguments):
    """A command that becomes actions, done one after another until one fails."""

    @abstractmethod
    def actions(self) -> tuple[t.Action, ...]: ...


class Ask(Arguments):
    """A command that becomes a look and leaves the page alone."""

    @abstractmethod
    def look(self) -> t.Look: ...

    @abstractmethod
    def answer(self, seen: t.Observation) -> BaseModel: ...


class AtPoint(Arguments):
    x: t.Pixel
    y: t.Pixel

    @property
    def aim(self) -> dict[str, Any]:
        return {"x": self.x, "y": self.y}


class AtElement(Arguments):
    id: t.ElementId

    @property
    def aim(self) -> dict[str, Any]:
        return {"element": self.id}


def _scroll(aim: dict[str, Any], direction: Direction, amount: float) -> t.Scroll:
    back = direction in ("up", "left")
    signed = -amount if back else amount
    return t.Scroll(**aim, dx=signed if direction in ("left", "right") else 0, dy=signed if direction in ("up", "down") else 0)


class VisitPage(Act):
    url: t.Url

    def actions(self) -> tuple[t.Action, ...]:
        return (t.Navigate(url=self.url),)


class ClickCoords(AtPoint, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Click(**self.aim),)


class ClickId(AtElement, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Click(**self.aim),)


class Filling(Arguments):
    value: t.Text
    press_enter: bool = True
    delete_existing: bool = False

    def typing(self, aim: dict[str, Any]) -> tuple[t.Action, ...]:
        return (t.Type(**aim, text=self.value, enter=self.press_enter, clear=self.delete_existing),)


class FillCoords(AtPoint, Filling, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return self.typing(self.aim)


class FillId(AtElement, Filling, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return self.typing(self.aim)


class PageDown(Act):
    amount: Amount = STRIDE
    full_page: bool = False

    def actions(self) -> tuple[t.Action, ...]:
        return (_scroll(CORNER, "down", VIEWPORT.height if self.full_page else self.amount),)


class PageUp(PageDown):
    def actions(self) -> tuple[t.Action, ...]:
        return (_scroll(CORNER, "up", VIEWPORT.height if self.full_page else self.amount),)


class ScrollId(AtElement, Act):
    direction: Direction = "down"
    amount: Amount = STRIDE

    def actions(self) -> tuple[t.Action, ...]:
        return (_scroll(self.aim, self.direction, self.amount),)


class ScrollCoords(AtPoint, Act):
    """By `dx` and `dy` if either is given, else by `amount` in `direction`."""

    direction: Direction = "down"
    amount: Amount = STRIDE
    dx: float | None = Field(None, ge=-100_000, le=100_000, validation_alias=AliasChoices("dx", "delta_x", "scroll_x"))
    dy: float | None = Field(None, ge=-100_000, le=100_000, validation_alias=AliasChoices("dy", "delta_y", "scroll_y"))

    def actions(self) -> tuple[t.Action, ...]:
        if self.dx is None and self.dy is None:
            return (_scroll(self.aim, self.direction, self.amount),)
        return (t.Scroll(**self.aim, dx=self.dx or 0, dy=self.dy or 0),)


class HoverCoords(AtPoint, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Hover(**self.aim),)


class HoverId(AtElement, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Hover(**self.aim),)


class HoverAndScrollCoords(ScrollCoords):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Hover(**self.aim), *super().actions())


class Keypress(Act):
    """Modifiers are held for the keys after them: `["ctrl", "a"]` is one combination, `["Tab", "Enter"]` two keys."""

    keys: KeyNames

    def actions(self) -> tuple[t.Action, ...]:
        held: list[str] = []
        pressed: list[str] = []
        for key in self.keys:
            modifier = _modifier(key)
            if modifier is None:
                pressed.append("+".join([*held, key]))
            elif modifier not in held:
                held.append(modifier)
        return (t.Key(keys=tuple(pressed or ["+".join(held)])),)


def _modifier(key: str) -> str | None:
    try:
        others, name = keyboard.parse(key)
    except keyboard.UnknownKey:
        return None  # for the worker to refuse, in words the agent can read
    return name if name in keyboard.MODIFIERS and not others else None


class Back(Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Back(),)


class SelectOption(Act):
    """Options of the list at `id` or `x`, `y`, by label or value. Without options the place itself is clicked: old clients
    name the option as an element."""

    id: t.ElementId | None = None
    x: t.Pixel | None = None
    y: t.Pixel | None = None
    options: Texts = Field((), validation_alias=AliasChoices("options", "option", "values", "value"))

    @model_validator(mode="after")
    def _one_aim(self) -> Self:
        if (self.x is None) != (self.y is None) or (self.id is None) == (self.x is None):
            raise ValueError("give either id or x and y")
        return self

    def actions(self) -> tuple[t.Action, ...]:
        aim: dict[str, Any] = {"element": self.id, "x": self.x, "y": self.y}
        return (t.Select(**aim, options=self.options) if self.options else t.Click(**aim),)


class Sleep(Act):
    duration: t.Seconds = 1.0

    def actions(self) -> tuple[t.Action, ...]:
        return (t.Wait(seconds=self.duration),)


class TabAndEnter(Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Key(keys=("Tab", "Enter")),)
