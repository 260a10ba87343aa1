"""The commands of the Omniboxes API (`POST /execute`): what each is told, which actions or look it becomes, what it answers.

Invariant: whatever passes validation here is valid in version 1 too. A command either acts (`Act`) or asks (`Ask`); the
ids it names are the numbers of the latest marked look.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, RootModel, model_validator

from webgym import types as t
from webgym.server import keyboard
from webgym.server.protocol import Viewport

VIEWPORT = Viewport()
STRIDE = 200.0  # pixels of a scroll that does not say how far
CORNER = {"x": 10.0, "y": 10.0}  # the wheel turns here for the page itself, away from boxes that scroll on their own
BLIND = t.Look(image="none")
MARKED = t.Look(image="none", marks=True)


def _lowered(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


Mode = Literal["coordinates", "set_of_marks"]
Direction = Annotated[Literal["up", "down", "left", "right"], BeforeValidator(_lowered)]
Amount = Annotated[float, Field(ge=0, le=100_000, description="pixels")]
Delta = Annotated[float, Field(ge=-100_000, le=100_000, description="pixels")]
Texts = Annotated[tuple[t.Text, ...], BeforeValidator(_listed), Field(max_length=100)]
KeyName = Annotated[str, Field(min_length=1, max_length=40)]
KeyNames = Annotated[tuple[KeyName, ...], BeforeValidator(_listed), Field(min_length=1, max_length=16)]
Aim = dict[str, Any]


# Answers


class Outcome(BaseModel):
    status: Literal["success", "failed", "screenshot_taken"] = "success"
    reason: str | None = Field(None, description="Why the action had no effect, for the agent to read.")
    navigation_error: str | None = Field(None, description="What the browser could not load and why.")


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
    """Marked elements by id."""


class ScreenshotInfo(BaseModel):
    visible_rects: tuple[str, ...]
    rects_above: tuple[str, ...] = ()
    rects_below: tuple[str, ...] = ()
    interactive_regions: dict[str, Region]
    id_mapping: dict[str, str]


def _regions(seen: t.Observation) -> dict[str, Region]:
    return {str(mark.id): _region(mark) for mark in seen.marks or ()}


def _region(mark: t.Mark) -> Region:
    x, y, width, height = mark.box.x, mark.box.y, mark.box.width, mark.box.height
    rect = Rect(x=x, y=y, width=width, height=height, left=x, top=y, right=x + width, bottom=y + height)
    return Region(role=mark.role, name=mark.name, aria_name=mark.name, tag_name=mark.role, rects=(rect,))


# Arguments


class Arguments(BaseModel):
    """Unlike version 1, keys that mean nothing here are ignored: old clients send some. Numbers may stand for text."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, coerce_numbers_to_str=True)


class Act(Arguments):
    """A command that becomes actions, done one after another until one fails."""

    @abstractmethod
    def actions(self) -> tuple[t.Action, ...]: ...


class Ask(Arguments):
    """A command that becomes a look and leaves the page alone."""

    def look(self) -> t.Look:
        return BLIND

    @abstractmethod
    def answer(self, seen: t.Observation) -> BaseModel: ...


class AtPoint(Arguments):
    x: t.Pixel
    y: t.Pixel

    @property
    def aim(self) -> Aim:
        return {"x": self.x, "y": self.y}


class AtElement(Arguments):
    id: t.ElementId

    @property
    def aim(self) -> Aim:
        return {"element": self.id}


class Filling(Arguments):
    value: t.Text
    press_enter: bool = True
    delete_existing: bool = False

    def typing(self, aim: Aim) -> tuple[t.Action, ...]:
        return (t.Type(**aim, text=self.value, enter=self.press_enter, clear=self.delete_existing),)


def _scroll(aim: Aim, direction: Direction, amount: float) -> t.Scroll:
    signed = -amount if direction in ("up", "left") else amount
    return t.Scroll(**aim, dx=signed) if direction in ("left", "right") else t.Scroll(**aim, dy=signed)


# Commands that act


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


class FillCoords(AtPoint, Filling, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return self.typing(self.aim)


class FillId(AtElement, Filling, Act):
    def actions(self) -> tuple[t.Action, ...]:
        return self.typing(self.aim)


class PageDown(Act):
    towards: ClassVar[Direction] = "down"
    amount: Amount = STRIDE
    full_page: bool = Field(False, description="By the height of the viewport, whatever the amount.")

    def actions(self) -> tuple[t.Action, ...]:
        return (_scroll(CORNER, self.towards, VIEWPORT.height if self.full_page else self.amount),)


class PageUp(PageDown):
    towards: ClassVar[Direction] = "up"


class ScrollId(AtElement, Act):
    direction: Direction = "down"
    amount: Amount = STRIDE

    def actions(self) -> tuple[t.Action, ...]:
        return (_scroll(self.aim, self.direction, self.amount),)


class ScrollCoords(AtPoint, Act):
    """By `dx` and `dy` if either is given, else by `amount` in `direction`."""

    direction: Direction = "down"
    amount: Amount = STRIDE
    dx: Delta | None = Field(None, validation_alias=AliasChoices("dx", "delta_x", "scroll_x"))
    dy: Delta | None = Field(None, validation_alias=AliasChoices("dy", "delta_y", "scroll_y"))

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
    give the id of the option."""

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
        aim: Aim = {"element": self.id, "x": self.x, "y": self.y}
        return (t.Select(**aim, options=self.options) if self.options else t.Click(**aim),)


class Sleep(Act):
    duration: t.Seconds = 1.0

    def actions(self) -> tuple[t.Action, ...]:
        return (t.Wait(seconds=self.duration),)


class TabAndEnter(Act):
    def actions(self) -> tuple[t.Action, ...]:
        return (t.Key(keys=("Tab", "Enter")),)


# Commands that ask


class GetPageMetadata(Ask):
    def answer(self, seen: t.Observation) -> PageMetadata:
        return PageMetadata(
            title=seen.title, url=seen.url, status=seen.status, scroll=seen.scroll, navigation_error=seen.navigation_error
        )


class GetWebpageText(Ask):
    n_lines: Annotated[int, Field(ge=1, le=100_000, description="At most so many lines that are not blank.")] = 100

    def look(self) -> t.Look:
        return t.Look(image="none", text=True)

    def answer(self, seen: t.Observation) -> PageText:
        lines = [line for line in (seen.text or "").splitlines() if line.strip()]
        return PageText(text="\n".join(lines[: self.n_lines]))


class GetInteractiveRects(Ask):
    def look(self) -> t.Look:
        return MARKED

    def answer(self, seen: t.Observation) -> Regions:
        return Regions(_regions(seen))


class GetScreenshotInfo(Ask):
    def look(self) -> t.Look:
        return MARKED

    def answer(self, seen: t.Observation) -> ScreenshotInfo:
        regions = _regions(seen)
        return ScreenshotInfo(
            visible_rects=tuple(regions), interactive_regions=regions, id_mapping={number: number for number in regions}
        )


class Screenshot(Ask):
    """No picture in the answer (GET /screenshot has it), but the ids are those of this moment."""

    interaction_mode: Mode = "set_of_marks"

    def look(self) -> t.Look:
        return MARKED if self.interaction_mode == "set_of_marks" else BLIND

    def answer(self, seen: t.Observation) -> Outcome:
        return Outcome(status="screenshot_taken")


class Execute(BaseModel):
    """An instance and exactly one command; a command without arguments may be `{}` or null."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    node: str
    visit_page: VisitPage | None = None
    click_coords: ClickCoords | None = None
    click_id: ClickId | None = None
    fill_coords: FillCoords | None = None
    fill_id: FillId | None = None
    page_down: PageDown | None = None
    page_up: PageUp | None = None
    scroll_id: ScrollId | None = None
    scroll_coords: ScrollCoords | None = None
    hover_coords: HoverCoords | None = None
    hover_id: HoverId | None = None
    hover_and_scroll_coords: HoverAndScrollCoords | None = None
    keypress: Keypress | None = None
    back: Back | None = None
    select_option: SelectOption | None = None
    sleep: Sleep | None = None
    tab_and_enter: TabAndEnter | None = None
    get_page_metadata: GetPageMetadata | None = None
    get_webpage_text: GetWebpageText | None = None
    get_interactive_rects: GetInteractiveRects | None = None
    get_screenshot_info: GetScreenshotInfo | None = None
    screenshot: Screenshot | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_command(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        known = [name for name in cls.model_fields if name not in ("instance_id", "node")]
        given = [name for name in data if name not in ("instance_id", "node")]
        if len(given) != 1 or given[0] not in known:
            raise ValueError(f"give instance_id, node and exactly one command of {', '.join(known)}")
        return {name: {} if value is None and name in known else value for name, value in data.items()}

    @property
    def command(self) -> Act | Ask:
        (name,) = self.model_fields_set - {"instance_id", "node"}
        command = getattr(self, name)
        assert isinstance(command, Act | Ask)
        return command
