"""The words the stages share.

Everything here crosses a process or a disk, so everything is a frozen pydantic model that refuses unknown fields.
Coordinates are CSS pixels of the viewport; translating a model's own grid to pixels is the business of its dialect.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints, model_validator


class Wire(BaseModel):
    """A frozen record with no room for surprises."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        hide_input_in_errors=True,
    )


# ── Actions ──────────────────────────────────────────────────────────────────────────────────────────────────────

Pixel = Annotated[float, Field(ge=0, le=16384)]
ElementId = Annotated[int, Field(ge=1, le=100_000, description="A number drawn by the latest Set-of-Marks observation.")]
Text = Annotated[str, StringConstraints(max_length=20_000)]
Url = Annotated[str, StringConstraints(min_length=1, max_length=8_192)]
Seconds = Annotated[float, Field(ge=0, le=30)]
FileName = Annotated[str, StringConstraints(pattern=r"^[^/\\\x00]{1,200}$")]


class Aimed(Wire):
    """Something done at a place: a pixel (`x`, `y`) or a marked `element`, never both."""

    x: Pixel | None = None
    y: Pixel | None = None
    element: ElementId | None = None

    @property
    def has_aim(self) -> bool:
        return self.element is not None or self.x is not None

    @model_validator(mode="after")
    def _one_aim(self) -> Self:
        if (self.x is None) != (self.y is None):
            raise ValueError("x and y belong together")
        if self.element is not None and self.x is not None:
            raise ValueError("give either x and y or element, not both")
        return self


class MustAim(Aimed):
    @model_validator(mode="after")
    def _some_aim(self) -> Self:
        if not self.has_aim:
            raise ValueError("needs x and y, or element")
        return self


class Click(MustAim):
    kind: Literal["click"] = "click"
    button: Literal["left", "right", "middle"] = "left"
    count: Literal[1, 2, 3] = 1
    modifiers: tuple[Literal["Alt", "Control", "Meta", "Shift"], ...] = ()


class Hover(MustAim):
    kind: Literal["hover"] = "hover"


class Drag(MustAim):
    kind: Literal["drag"] = "drag"
    to_x: Pixel
    to_y: Pixel


class Type(Aimed):
    """Type text where the focus is, or first click the aimed place."""

    kind: Literal["type"] = "type"
    text: Text
    clear: bool = False
    enter: bool = False


class Key(Wire):
    """Key combinations pressed one after another, such as `["Control+A", "Delete"]`."""

    kind: Literal["key"] = "key"
    keys: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=64)], ...], Field(min_length=1, max_length=64)
    ]


class Scroll(Aimed):
    """Scroll by pixels: the page, or whatever scrolls under the aimed place."""

    kind: Literal["scroll"] = "scroll"
    dx: Annotated[float, Field(ge=-100_000, le=100_000)] = 0
    dy: Annotated[float, Field(ge=-100_000, le=100_000)] = 0


class Select(MustAim):
    """Choose options of a `<select>` by label or value."""

    kind: Literal["select"] = "select"
    options: Annotated[tuple[Text, ...], Field(max_length=100)]


class Navigate(Wire):
    kind: Literal["navigate"] = "navigate"
    url: Url


class Back(Wire):
    kind: Literal["back"] = "back"


class Forward(Wire):
    kind: Literal["forward"] = "forward"


class Reload(Wire):
    kind: Literal["reload"] = "reload"


class Wait(Wire):
    kind: Literal["wait"] = "wait"
    seconds: Seconds = 1.0


class NewTab(Wire):
    kind: Literal["new_tab"] = "new_tab"
    url: Url | None = None


class SwitchTab(Wire):
    kind: Literal["switch_tab"] = "switch_tab"
    tab: int


class CloseTab(Wire):
    kind: Literal["close_tab"] = "close_tab"
    tab: int | None = None


class Upload(MustAim):
    """Give files of the session's folder to the file input at the aimed place."""

    kind: Literal["upload"] = "upload"
    files: Annotated[tuple[FileName, ...], Field(min_length=1, max_length=16)]


class Answer(Wire):
    """The agent's final answer. It has no effect in the browser."""

    kind: Literal["answer"] = "answer"
    text: Text


class Terminate(Wire):
    """The agent gives up or declares success without an answer. It has no effect in the browser."""

    kind: Literal["terminate"] = "terminate"
    status: Literal["success", "failure"]


Action = Annotated[
    Click | Hover | Drag | Type | Key | Scroll | Select | Navigate | Back | Forward | Reload | Wait
    | NewTab | SwitchTab | CloseTab | Upload | Answer | Terminate,
    Field(discriminator="kind"),
]  # fmt: skip


# ── Observations ─────────────────────────────────────────────────────────────────────────────────────────────────

ImageFormat = Literal["jpeg", "png", "none"]


class Look(Wire):
    """What an observation should contain. The default is a JPEG screenshot and the page's particulars."""

    image: ImageFormat = "jpeg"
    quality: Annotated[int, Field(ge=1, le=100)] = 80
    marks: bool = Field(False, description="Set-of-Marks: number the visible interactive elements on the screenshot.")
    accessibility: bool = Field(False, description="An outline of the visible page: roles, names, states.")
    text: bool = Field(False, description="The page's text.")


# Pydantic's own base64 has the alphabet for URLs, which few readers of an image expect. It reads both.
ImageBytes = Annotated[bytes, PlainSerializer(lambda data: b64encode(data).decode(), return_type=str, when_used="json")]


class Screenshot(Wire):
    format: Literal["jpeg", "png"]
    width: int
    height: int
    sha256: str
    data: ImageBytes = Field(repr=False)


class Box(Wire):
    x: float
    y: float
    width: float
    height: float


class Mark(Wire):
    id: int
    role: str
    name: str
    box: Box


class Tab(Wire):
    id: int
    url: str
    title: str
    active: bool


class ScrollPosition(Wire):
    x: float
    y: float
    width: float = Field(description="Width of the whole page.")
    height: float = Field(description="Height of the whole page.")


class Dialog(Wire):
    """A dialog that was dismissed for the agent (`beforeunload` is accepted, so that no page can hold it)."""

    kind: Literal["alert", "confirm", "prompt", "beforeunload"]
    message: str


class Download(Wire):
    name: str = Field(description="The file's name in the session's folder.")
    url: str
    state: Literal["running", "done", "refused", "failed"]
    size: int


class Settled(Wire):
    """How long the page took to come to rest, and which cap ended the wait if it did not."""

    ms: float
    capped: tuple[Literal["commit", "load", "quiet", "network"], ...] = ()


MAX_OUTLINE: Final = 40_000  # characters of an observation's `accessibility`


class Observation(Wire):
    screenshot: Screenshot | None
    unchanged: bool = Field(description="The screenshot equals the previous one of this session.")
    url: str
    title: str
    status: int | None = Field(None, description="HTTP status of the document, if it came over HTTP.")
    scroll: ScrollPosition
    tabs: tuple[Tab, ...]
    dialogs: tuple[Dialog, ...] = ()
    downloads: tuple[Download, ...] = ()
    navigation_error: str | None = Field(None, description="What the browser could not load and why.")
    action_error: str | None = Field(None, description="Why the action had no effect, for the agent to read.")
    notes: tuple[str, ...] = Field((), description="Other surprises: refused popups, stopped scripts, denied choosers.")
    settled: Settled
    marks: tuple[Mark, ...] | None = None
    accessibility: str | None = None
    text: str | None = None
    truncated: tuple[Literal["marks", "accessibility", "text", "dialogs", "downloads"], ...] = ()


# ── Tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────

Split = Literal["train", "test"]
DifficultyBand = Literal["easy", "medium", "hard"]


class FactGroup(Wire):
    """Facts of a rubric that belong together; the judge looks for each of them."""

    id: int
    description: str
    facts: Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(min_length=1)]


class Provenance(Wire):
    """Where a task came from and who wrote its rubric."""

    file: str = ""
    line: int | None = None
    licence: str = ""
    rubric_model: str = Field("", description="The model that wrote the rubric; empty if the source brought it.")
    rubric_version: str = ""


class Task(Wire):
    """Something to do on a website, with the facts by which it will be judged."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    instruction: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
    website: str = Field(description="Canonical origin, such as https://example.com; empty if the task names none.")
    domain: str
    subdomain: str
    groups: tuple[FactGroup, ...]
    reference_answer: str | None = None
    parent_id: str | None = Field(None, description="The task this one was decomposed from.")
    split: Split = "train"
    provenance: Provenance = Provenance()

    @property
    def difficulty(self) -> int:
        """The number of facts over all groups."""
        return sum(len(group.facts) for group in self.groups)

    @property
    def band(self) -> DifficultyBand:
        return "easy" if self.difficulty <= 3 else "medium" if self.difficulty <= 6 else "hard"


# ── Episodes ─────────────────────────────────────────────────────────────────────────────────────────────────────

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
EpisodeId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class TextPart(Wire):
    kind: Literal["text"] = "text"
    text: str


class ImagePart(Wire):
    """An image by reference: its bytes are in the store under this hash."""

    kind: Literal["image"] = "image"
    sha256: Sha256


class Turn(Wire):
    """One message of a prompt, as it was sent."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Annotated[TextPart | ImagePart, Field(discriminator="kind")], ...]


CUT: Final = ("length", "max_tokens")  # how servers say in `finish` that a reply was cut off
STOPPED_BY: Final = ("stop_string", "stop_token")  # our words where something else than the end of its turn ended it
ABORTED: Final = ("abort", "error")  # and that they ended it themselves: what there is of it is not the model's reply


class Reply(Wire):
    """What a model answered, with what its server told about it."""

    text: str
    model: str = ""
    finish: str = Field("stop", description="Why it ended, in the server's word; STOPPED_BY are ours.")
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    prompt_token_ids: tuple[int, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = Field(None, description="One for each of token_ids.")
    rebuilt: bool = Field(False, description="The server took the text apart, and this is not to the letter what was said.")


class Step(Wire):
    """What the agent saw, what it was asked, what it said, what was done and what came of it."""

    index: int = Field(ge=0)
    screenshot: Sha256 | None = Field(description="What the agent saw before it acted.")
    url: str
    title: str
    visible: str | None = Field(None, description="Outline of what was on screen, if it was asked for.")
    prompt: tuple[Turn, ...] = Field((), description="Exactly what was sent; empty for an agent without a model.")
    reply: Reply | None = None
    action: Action | None = Field(None, description="None: the reply could not be read.")
    invalid: str | None = Field(None, description="Why the reply could not be read; the agent is told.")
    error: str | None = Field(None, description="Why the action had no effect, or what the browser could not load.")
    unchanged: bool = Field(False, description="The next screenshot equals this one: the action did nothing to see.")
    seconds: float = Field(0.0, description="From this screenshot to the next.")

    @model_validator(mode="after")
    def _action_or_reason(self) -> Self:
        if (self.action is None) != (self.invalid is not None):
            raise ValueError("a step has either an action or the reason why its reply is invalid")
        return self


class Answered(Wire):
    """The agent ended the episode itself."""

    kind: Literal["answered"] = "answered"


class StepLimit(Wire):
    kind: Literal["step_limit"] = "step_limit"
    limit: int


class Blocked(Wire):
    """The website refuses automation."""

    kind: Literal["blocked"] = "blocked"
    reason: str


class SiteError(Wire):
    """The website did not work: nothing of ours and nothing of the agent's."""

    kind: Literal["site_error"] = "site_error"
    reason: str


class Infra(Wire):
    """A fault of ours, after every retry. Never a reward."""

    kind: Literal["infra"] = "infra"
    reason: str


class Cancelled(Wire):
    kind: Literal["cancelled"] = "cancelled"
    reason: Literal["shutdown", "straggler", "policy_unavailable", "circuit_open", "disk_full", "blocked_site"]
    detail: str = ""


Outcome = Annotated[Answered | StepLimit | Blocked | SiteError | Infra | Cancelled, Field(discriminator="kind")]


class Episode(Wire):
    """One attempt at a task, whole. Screenshots are hashes into the store."""

    id: EpisodeId = Field(description="Of run, iteration, task and replica: planned once, committed at most once.")
    run: str
    iteration: int = Field(ge=0)
    replica: int = Field(0, ge=0, description="Which of the repeats of this task.")
    attempt: int = Field(0, ge=0, description="How many infrastructure failures came before.")
    task: Task
    agent: str = Field(description="Who acted: a dialect and model, or the name of a script.")
    width: int
    height: int
    steps: tuple[Step, ...]
    final_screenshot: Sha256 | None = Field(None, description="What the last action led to.")
    final_url: str = ""
    final_visible: str | None = None
    answer: str | None = None
    state: dict[str, str] = Field({}, description="What the offline web's sites kept for this session, by host.")
    outcome: Outcome
    started: float = Field(description="Seconds since the epoch.")
    ended: float

    @property
    def trainable(self) -> bool:
        """Only an episode that the agent or its step limit ended can be scored."""
        return self.outcome.kind in ("answered", "step_limit")


# ── Verdicts ─────────────────────────────────────────────────────────────────────────────────────────────────────


class FactResult(Wire):
    """Whether one fact of the rubric was met, and what shows it."""

    group: int
    fact: str
    met: bool
    reason: str = ""
    screenshots: tuple[Sha256, ...] = ()


class Scored(Wire):
    kind: Literal["scored"] = "scored"
    reward: Literal[0, 1]
    facts: tuple[FactResult, ...] = ()
    reason: str = Field("", description="Why the reward is 0 although every fact is met, if so.")

    @property
    def fraction(self) -> float:
        """The part of the facts that were met, for those who want partial credit."""
        return sum(fact.met for fact in self.facts) / len(self.facts) if self.facts else float(self.reward)

    @model_validator(mode="after")
    def _a_reward_needs_every_fact(self) -> Self:
        if self.reward == 1 and not all(fact.met for fact in self.facts):
            raise ValueError("reward 1 although a fact is not met")
        return self


class Unscorable(Wire):
    """The judge failed. There is no reward: judge again, never train on it."""

    kind: Literal["unscorable"] = "unscorable"
    reason: str


Verdict = Annotated[Scored | Unscorable, Field(discriminator="kind")]


class Judgement(Wire):
    """A verdict and whose it is. An episode may have several, of different judges."""

    episode: EpisodeId
    judge: str = Field(description="The judge's identity: its kind, models, prompts' version and settings.")
    verdict: Verdict
    dollars: float = 0.0
    tokens: int = 0
    judged: float = Field(description="Seconds since the epoch.")
