"""A document and our script inside it.

The page's own world is never touched: our script runs in an isolated world that the page can neither see nor alter, made
anew for each document.
"""

from __future__ import annotations

import contextlib
import time
from importlib import resources
from typing import Any, TypeVar

import msgspec

from webgym.errors import BrowserError
from webgym.server.cdp import Channel, ProtocolError

T = TypeVar("T")

WORLD = "webgym"
PARTS = ("names", "lists", "clipboard", "rest", "marks", "outline", "aim")
OFFERED = (
    "rest, attempt, particulars, collectMarks, foreignFrame, foreignOrigin, outline, text, aim, select, takeCopied, paste, "
    "storage"
)


def _script() -> str:
    """The files of `scripts/` as one: they share a scope that nothing else can reach, and offer the names above.

    It stays if it is here already. To ask for the name would not do: an element with that id answers to it, in every world
    of its document."""
    folder = resources.files("webgym.server").joinpath("scripts")
    parts = "\n".join(folder.joinpath(f"{name}.js").read_text() for name in PARTS)
    begin = "if (!Object.hasOwn(globalThis, 'webgym')) globalThis.webgym ="
    return f"{begin} (() => {{\n{parts}\nreturn {{ {OFFERED} }};\n}})();\nnull;"


SCRIPT = _script()


class _World(msgspec.Struct):
    executionContextId: int


class _Remote(msgspec.Struct):
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Exception(msgspec.Struct):
    text: str = ""
    exception: dict[str, Any] | None = None


class _Evaluated(msgspec.Struct):
    result: _Remote
    exceptionDetails: _Exception | None = None


class _Handle(msgspec.Struct):
    objectId: str = ""


class _Held(msgspec.Struct):
    result: _Handle


class _Node(msgspec.Struct):
    frameId: str = ""


class _Described(msgspec.Struct):
    node: _Node


class ScriptFailed(BrowserError):
    """Our own script threw inside a page."""


class Frame:
    """A document we can run our script in: the main frame's, or that of a cross-site frame in its own process."""

    def __init__(self, channel: Channel, frame_id: str) -> None:
        self.channel = channel
        self.id = frame_id
        self._context: int | None = None

    def forget_document(self) -> None:
        self._context = None

    async def enter(self, *, within: float) -> None:
        """Bring our script into the current document, if it is not there."""
        if self._context is None:
            await self._enter(within)

    async def run(self, expression: str, kind: type[T], *, within: float) -> T:
        """Evaluate in our world of the current document; once more if the document was replaced meanwhile."""
        ends = time.monotonic() + within
        for attempt in (1, 2, 3):
            left = max(0.05, ends - time.monotonic())
            try:
                await self.enter(within=left)
                return await self._evaluate(expression, kind, left)
            except ProtocolError:
                self._context = None
                if attempt == 3:
                    raise
        raise AssertionError("unreachable")

    async def frame_in(self, expression: str, *, within: float) -> str:
        """The id of the frame that an `<iframe>` of this document shows; the expression yields the element."""
        params = {"expression": expression, "contextId": self._context}
        held = await self.channel.call("Runtime.evaluate", params, _Held, within=within)
        described = await self.channel.call(
            "DOM.describeNode", {"objectId": held.result.objectId}, _Described, within=within
        )
        self.channel.post("Runtime.releaseObject", {"objectId": held.result.objectId})
        return described.node.frameId

    def post(self, expression: str) -> None:
        """Evaluate in the current document and do not wait; nothing if our script has not been there."""
        if self._context is not None:
            self.channel.post("Runtime.evaluate", {"expression": expression, "contextId": self._context})

    async def stop_scripts(self) -> None:
        """Break an endless script; the document stays."""
        with contextlib.suppress(BrowserError):
            await self.channel.call("Runtime.terminateExecution", within=1.0)

    async def _enter(self, within: float) -> None:
        world = await self.channel.call(
            "Page.createIsolatedWorld", {"frameId": self.id, "worldName": WORLD}, _World, within=within
        )
        self._context = world.executionContextId
        await self._evaluate(SCRIPT, type(None), within)

    async def _evaluate(self, expression: str, kind: type[T], within: float) -> T:
        answer = await self.channel.call(
            "Runtime.evaluate",
            {"expression": expression, "contextId": self._context, "awaitPromise": True, "returnByValue": True},
            _Evaluated,
            within=within,
        )
        self.channel.has_answered()
        if answer.exceptionDetails is not None:
            detail = (answer.exceptionDetails.exception or {}).get("description", answer.exceptionDetails.text)
            raise ScriptFailed(f"the page script failed: {detail}")
        try:
            return msgspec.json.decode(answer.result.value, type=kind)
        except msgspec.DecodeError as e:
            raise ScriptFailed(f"the page script answered something else: {e}") from e
