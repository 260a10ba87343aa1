"""Storage state: cookies and local storage of a session, saved and restored in Playwright's format.

Local storage belongs to an origin and can only be reached from a document of it. So for each origin a background tab is
sent there with every request answered by us with an empty page: the site itself is never asked, nor its service worker, and
none of its scripts runs. Nothing is read or written unless the document that does it says that it is of that origin.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from webgym.errors import BadRequest, BrowserError, Unavailable
from webgym.server.cdp import ConnectionClosed, ProtocolError
from webgym.server.frame import ScriptFailed
from webgym.server.page import Page
from webgym.server.protocol import Cookie, OriginStorage, StorageItem, StorageState
from webgym.server.tabs import MAX_ORIGINS, Context

SECONDS = 5.0


class _Partition(msgspec.Struct):
    """The cookies that a website's frames have inside one other website, apart from those they have elsewhere."""

    topLevelSite: str
    hasCrossSiteAncestor: bool = True


class _Cookie(msgspec.Struct):
    name: str
    value: str
    domain: str
    path: str
    expires: float = -1
    httpOnly: bool = False
    secure: bool = False
    sameSite: str = "Lax"
    partitionKey: _Partition | None = None
    partitionKeyOpaque: bool = False  # of frames in a document that is of no website (data:), which nothing can name


class _Cookies(msgspec.Struct):
    cookies: list[_Cookie]


class _Item(msgspec.Struct):
    name: str
    value: str


class _Storage(msgspec.Struct):
    origin: str
    wanted: str
    items: list[_Item]


class _Paused(msgspec.Struct):
    requestId: str


async def save(context: Context) -> StorageState:
    root = context.connection.root
    found = await root.call("Storage.getCookies", {"browserContextId": context.id}, _Cookies, within=SECONDS)
    origins = []
    async with _Elsewhere(context) as tab:
        for origin in tuple(context.origins):  # in their order, which these visits would change
            stored = await tab.visit(origin)
            if stored is not None and stored.items:
                items = tuple(StorageItem(name=item.name, value=item.value) for item in stored.items)
                origins.append(OriginStorage(origin=origin, localStorage=items))
    return StorageState(
        # One whose partition has no name would come back as an ordinary cookie of its website.
        cookies=tuple(_from_chromium(cookie) for cookie in found.cookies if not cookie.partitionKeyOpaque),
        origins=tuple(sorted(origins, key=lambda stored: stored.origin)),
    )


def _from_chromium(cookie: _Cookie) -> Cookie:
    partition = cookie.partitionKey
    return Cookie(
        name=cookie.name,
        value=cookie.value,
        domain=cookie.domain,
        path=cookie.path,
        expires=cookie.expires,
        httpOnly=cookie.httpOnly,
        secure=cookie.secure,
        sameSite="Strict" if cookie.sameSite == "Strict" else "None" if cookie.sameSite == "None" else "Lax",
        partitionKey=None if partition is None else partition.topLevelSite,
        _crHasCrossSiteAncestor=None if partition is None else partition.hasCrossSiteAncestor,
    )


def _to_chromium(cookie: Cookie) -> dict[str, Any]:
    fields = cookie.model_dump(exclude={"partitionKey", "crossSiteAncestor"})
    if cookie.expires < 0:
        del fields["expires"]
    if cookie.partitionKey:
        across = cookie.crossSiteAncestor is not False
        fields["partitionKey"] = {"topLevelSite": cookie.partitionKey, "hasCrossSiteAncestor": across}
    return fields


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:  # a bracket that is never closed
        return False
    plain = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"[@\s]", parts.netloc)
    return plain and f"{parts.scheme}://{parts.netloc}" == text


async def restore(context: Context, state: StorageState) -> None:
    for stored in state.origins:
        if not _is_origin(stored.origin):
            raise BadRequest(f"storage_state.origins: {stored.origin!r:.200} is not an origin such as https://example.com")
    if len(state.origins) > MAX_ORIGINS:
        raise BadRequest(f"storage_state.origins: there are {len(state.origins)}, and at most {MAX_ORIGINS} are restored")
    if state.cookies:
        listed = [_to_chromium(cookie) for cookie in state.cookies]
        try:
            await context.connection.root.call(
                "Storage.setCookies", {"browserContextId": context.id, "cookies": listed}, within=SECONDS
            )
        except ProtocolError as e:
            raise BadRequest(f"storage_state.cookies: {e}") from e
    if not state.origins:
        return
    async with _Elsewhere(context) as tab:
        for stored in state.origins:
            there = await tab.visit(stored.origin)
            if there is None:
                raise BadRequest(f"storage_state.origins: the browser shows no page of {stored.origin!r:.200}")
            items = msgspec.json.encode([[item.name, item.value] for item in stored.localStorage]).decode()
            try:
                await tab.page.frame.run(
                    f"{{ for (const [k, v] of {items}) localStorage.setItem(k, v); null }}", type(None), within=SECONDS
                )
            except ScriptFailed as e:
                raise BadRequest(f"storage_state.origins: {stored.origin!r:.200} does not take what it should store") from e


class _Elsewhere:
    """A tab that reaches origins without asking their servers; the active tab stays the active one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.page: Page

    async def __aenter__(self) -> _Elsewhere:
        before = self._context.active
        self.page = await self._context.open_tab(spare=True)
        self._context.activate(before)
        channel = self.page.channel
        channel.on("Fetch.requestPaused", _Paused, self._answer)
        # A service worker of the site would be asked before us, and could ask its server or answer with a script of its own.
        await channel.call("Network.setBypassServiceWorker", {"bypass": True}, within=SECONDS)
        # The scripts of pages; ours run nonetheless.
        await channel.call("Emulation.setScriptExecutionDisabled", {"value": True}, within=SECONDS)
        await channel.call("Fetch.enable", None, within=SECONDS)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self._close())

    async def _close(self) -> None:
        await self._context.close_tab(self.page)
        # Chromium has answered before the tab is gone, and whoever looks next should not see it.
        await self.page.until(lambda: self.page.closed, SECONDS)

    def _answer(self, event: _Paused) -> None:
        reply: dict[str, Any] = {
            "requestId": event.requestId,
            "responseCode": 200,
            "responseHeaders": [{"name": "Content-Type", "value": "text/html"}],
            "body": "",
        }
        self.page.channel.post("Fetch.fulfillRequest", reply)

    async def visit(self, origin: str) -> _Storage | None:
        """Go there; what is stored there, or None if the browser refuses the address."""
        self.page.begin_navigation()
        try:
            await self.page.channel.call("Page.navigate", {"url": f"{origin}/"}, within=SECONDS)
            there = await self.page.until(lambda: not self.page.navigating, SECONDS)
        except ProtocolError:  # no address to it
            return None
        except ConnectionClosed:
            raise
        except BrowserError:
            there = False
        if not there:
            raise Unavailable(f"the browser was too slow to open the storage of {origin:.200}", retry_after=1.0)
        try:
            spelled = msgspec.json.encode(origin).decode()  # as we do; browsers write names in small letters and in ASCII
            expression = f"({{...webgym.storage(), wanted: new URL({spelled}).origin}})"
            stored = await self.page.frame.run(expression, _Storage, within=SECONDS)
        except ScriptFailed:  # the browser's own error page has no storage
            return None
        return stored if stored.origin == stored.wanted else None
