"""The prompt of a step.

    system      the dialect's prompt
    user        the task; one line for each old round (page, action, what came of it); the oldest full round's page
    assistant   what the model replied, without its thoughts
    user        what came of it, and the page after it
    …           for the last `window` rounds
    user        what came of the last reply, and the page now

Invariants. The task and the page now are always in it. Over the token budget, the oldest full rounds become lines, then the
oldest lines go, then the list of elements is cut. An invalid reply is answered with what was wrong with it. Page words are
one capped line each (`wording`). What is stored (`Prompt.turns`, images by hash) and what is sent (`Prompt.messages`) are
two views of one thing: `messages_of` leads from the first to the second. Only images of the last prompt are held.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from webgym.agents.settings import ContextSettings
from webgym.agents.wording import ADDRESS, NAME, REMARK, TITLE, disarmed, inert, line
from webgym.endpoint.messages import TURN_TOKENS, Image, Message, Role, weigh_text
from webgym.types import ImagePart, Observation, TextPart, Turn

MAX_ECHO: Final = 12_000  # characters of an old reply that are sent again
MAX_REMARKS: Final = 5
PATCH: Final = 28
LEFT_OUT: Final = "\n[… left out …]\n"


@dataclass(frozen=True)
class Shot:
    """A screenshot and its hash, which the browser's side has reckoned already."""

    image: Image
    sha256: str
    tokens: int


class Said:
    """One message before it is sent or stored. Most are said again in the next prompts, so each form is made once."""

    __slots__ = ("message", "role", "shot", "tokens", "turn", "words")

    def __init__(self, role: Role, words: str, shot: Shot | None = None) -> None:
        self.role, self.words, self.shot = role, words, shot
        self.tokens, text = TURN_TOKENS + weigh_text(words), TextPart(text=words)
        if shot is None:
            self.message, self.turn = Message(role, words), Turn(role=role, parts=(text,))
        else:
            self.tokens += shot.tokens
            self.message = Message(role, words, shot.image)
            self.turn = Turn(role=role, parts=(text, ImagePart(sha256=shot.sha256)))


@dataclass(frozen=True)
class Prompt:
    """What is sent and what is stored. `page` is what it says of the page now."""

    said: tuple[Said, ...]
    page: str

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple([said.message for said in self.said])

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple([said.turn for said in self.said])

    @property
    def tokens(self) -> int:
        """Tokens it may have, on the careful side."""
        return sum([said.tokens for said in self.said])


def messages_of(turns: Sequence[Turn], load: Callable[[str], bytes]) -> tuple[Message, ...]:
    """The prompt as it was sent, its images loaded by their hashes."""
    return tuple(
        Message(turn.role, *(_image(load(part.sha256)) if isinstance(part, ImagePart) else part.text for part in turn.parts))
        for turn in turns
    )


@dataclass(frozen=True)
class Round:
    """A step that is over, as it may appear in later prompts."""

    number: int
    title: str
    before: str  # what the model was told beside the screenshot
    reply: str  # without thoughts
    done: str  # the action in a few words, or that there was none
    result: str  # what came of it, in a few words
    answer: str  # what came of it, as the model is told right after

    @property
    def line(self) -> str:
        return f'{self.number}. "{self.title}": {self.done} → {self.result}'


class Context:
    """The history of one episode and the prompts made from it."""

    def __init__(self, instruction: str, website: str, settings: ContextSettings) -> None:
        self.settings = settings
        self._task = f"Task: {inert(instruction)}"
        if website and settings.addresses:
            self._task += f"\nWebsite: {line(website, ADDRESS)}"
        self._rounds: list[Round] = []
        self._shots: deque[Shot] = deque(maxlen=settings.window)
        self._last: dict[str, Said] = {}  # what the last prompt said, by its words

    def keep(self, round_: Round, shot: Shot) -> None:
        """A step is over."""
        self._rounds.append(round_)
        self._shots.append(shot)

    def prompt(self, system: str, observation: Observation, shot: Shot) -> Prompt:
        """The prompt for the page now, within the token budget as far as that is possible."""
        elements, budget = _elements(observation), self.settings.token_budget
        page = describe_page(observation, addresses=self.settings.addresses)
        full, lines = len(self._shots), len(self._rounds) - len(self._shots)
        while True:
            prompt = Prompt(tuple(self._lay_out(system, page, elements, shot, full, lines)), page)
            over = prompt.tokens - budget
            if over <= 0 or not (full or lines or elements):
                break
            if full:
                full, lines = full - 1, lines + 1
            elif lines:
                lines = max(0, lines - max(1, over // 40))
            else:
                elements = elements[: len(elements) // 2]
        self._last = {said.words: said for said in prompt.said}
        return prompt

    def _lay_out(self, system: str, page: str, elements: Sequence[str], shot: Shot, full: int, lines: int) -> Iterator[Said]:
        """`full` rounds in full, and a line for each of the `lines` rounds before those."""
        yield self._say("system", system)
        now = "\n".join([page, *(["Elements:", *elements] if elements else [])])
        old, recent = self._rounds[: len(self._rounds) - full], self._rounds[len(self._rounds) - full :]
        shots = list(self._shots)[len(self._shots) - full :]
        opening = "\n\n".join([self._task, *self._earlier(old, lines)])
        for round_, seen in zip(recent, shots, strict=True):
            yield self._say("user", f"{opening}\n\n{round_.before}", seen)
            yield self._say("assistant", round_.reply)
            opening = round_.answer
        if not recent and old:
            opening += f"\n\n{old[-1].answer}"
        yield self._say("user", f"{opening}\n\n{now}", shot)

    def _say(self, role: Role, words: str, shot: Shot | None = None) -> Said:
        """As the last prompt said it, if it did: then its forms are made already."""
        last = self._last.get(words)
        if last is not None and last.role == role and last.shot is shot:
            return last
        return Said(role, words, shot)

    def _earlier(self, old: Sequence[Round], lines: int) -> Iterator[str]:
        if not old:
            return
        gone = len(old) - lines
        told = [f"({gone} older steps are left out)"] if gone else []
        yield "\n".join(["Earlier steps:", *told, *(round_.line for round_ in old[gone:])])


def take(observation: Observation, image_tokens: int | None) -> Shot | None:
    """The screenshot of an observation, weighed."""
    shot = observation.screenshot
    if shot is None:
        return None
    return Shot(Image(shot.data, shot.format), shot.sha256, weight(shot.width, shot.height, image_tokens))


def weight(width: int, height: int, image_tokens: int | None) -> int:
    """What a screenshot of this size counts in the token budget."""
    return math.ceil(width / PATCH) * math.ceil(height / PATCH) + 2 if image_tokens is None else image_tokens


def describe_page(observation: Observation, *, addresses: bool = True) -> str:
    """What is told of a page beside its screenshot."""
    told = [f"Page: {line(observation.title, TITLE) or '(no title)'}"]
    told += [f"Address: {line(observation.url, ADDRESS)}"] if addresses else []
    if len(observation.tabs) > 1:
        told.append(f"Tabs: {len(observation.tabs)} are open.")
    remarks = [f"A dialog ({dialog.kind}) said: {dialog.message}" for dialog in observation.dialogs]
    remarks += [f"Download {download.state}: {download.name}" for download in observation.downloads]
    remarks += [f"Could not load: {observation.navigation_error}"] if observation.navigation_error else []
    remarks += [f"Note: {note}" for note in observation.notes]
    return "\n".join(told + [line(remark, REMARK) for remark in remarks[:MAX_REMARKS]])


def echo(reply: str) -> str:
    """An old reply as it is sent again: whole, unless it ran away. No message is empty, which some servers refuse."""
    if len(reply) > MAX_ECHO:
        reply = f"{reply[: MAX_ECHO // 2]}{LEFT_OUT}{reply[-MAX_ECHO // 2 :]}"
    return disarmed(reply).strip() or "(nothing)"


def _elements(observation: Observation) -> list[str]:
    return [f'[{mark.id}] {line(mark.role, 30)} "{line(mark.name, NAME)}"' for mark in observation.marks or ()]


def _image(data: bytes) -> Image:
    return Image(data, "png" if data.startswith(b"\x89PNG") else "jpeg")
