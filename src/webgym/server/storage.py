"""Storage state: cookies and local storage of a session, saved and restored in Playwright's format.

Local storage belongs to an origin and can only be reached from a document of it. So for each origin a background tab is
sent there with every request answered by us with an empty page: the site itself is never asked.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import msgspec

from webgym.errors import BadRequest
from webgym.server.cdp import ProtocolError
from webgym.server.page import Page
from webgym.server.protocol import Cookie, OriginStorage, StorageItem, StorageState
from webgym.server.tabs import Context

SECONDS = 5.0
MAX_ORIGINS = 50


class _Cookie(msgspec.Struct):
    name: str
    value: str
    domain: str
    path: str
    expires: float = -1
    httpOnly: bool = False
    secure: bool = False
    sameSite: str = "Lax"


class _Cookies(msgspec.Struct):
    cookies: list[_Cookie]


class _Item(msgspec.Struct):
    name: str
    value: str


class _Storage(msgspec.Struct):
    origin: str
    items: list[_Item]


class _Paused(msgspec.Struct):
    requestId: str


async def save(context: Context) -> StorageState:
    root = context.connection.root
    found = await root.call("Storage.getCookies", {"browserContextId": context.id}, _Cookies, within=SECONDS)
    origins = []
    async with _Elsewhere(context) as tab:
        for origin in sorted(context.origins)[:MAX_ORIGINS]:
            await tab.visit(origin)
            stored = await tab.page.frame.run("webgym.storage()", _Storage, within=SECONDS)
            if stored.items:
                items = tuple(StorageItem(name=item.name, value=item.value) for item in stored.items)
                origins.append(OriginStorage(origin=origin, localStorage=items))
    return StorageState(
        cookies=tuple(
            Cookie(
                name=cookie.name,
                value=cookie.value,
                domain=cookie.domain,
                path=cookie.path,
                expires=cookie.expires,
                httpOnly=cookie.httpOnly,
                secure=cookie.secure,
                sameSite="Strict" if cookie.sameSite == "Strict" else "None" if cookie.sameSite == "None" else "Lax",
            )
            for cookie in found.cookies
        ),
        origins=tuple(origins),
    )


async def restore(context: Context, state: StorageState) -> None:
    for stored in state.origins:
        parts = urlsplit(stored.origin)
        plain = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        if not plain or f"{parts.scheme}://{parts.netloc}" != stored.origin:
            raise BadRequest(f"storage_state.origins: {stored.origin!r:.200} is not an origin such as https://example.com")
    if state.cookies:
        listed = []
        for cookie in state.cookies:
            fields = cookie.model_dump()
            if cookie.expires < 0:
                del fields["expires"]
            listed.append(fields)
        try:
            await context.connection.root.call(
                "Storage.setCookies", {"browserContextId": context.id, "cookies": listed}, within=SECONDS
            )
        except ProtocolError as e:
            raise BadRequest(f"storage_state.cookies: {e}") from e
    if not state.origins:
        return
    async with _Elsewhere(context) as tab:
        for stored in state.origins[:MAX_ORIGINS]:
            await tab.visit(stored.origin)
            items = msgspec.json.encode([[item.name, item.value] for item in stored.localStorage]).decode()
            await tab.page.frame.run(
                f"{{ for (const [k, v] of {items}) localStorage.setItem(k, v); null }}", type(None), within=SECONDS
            )
            context.origins.add(stored.origin)


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
        await channel.call("Fetch.enable", None, within=SECONDS)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self._context.close_tab(self.page))

    def _answer(self, event: _Paused) -> None:
        reply: dict[str, Any] = {
            "requestId": event.requestId,
            "responseCode": 200,
            "responseHeaders": [{"name": "Content-Type", "value": "text/html"}],
            "body": "",
        }
        self.page.channel.post("Fetch.fulfillRequest", reply)

    async def visit(self, origin: str) -> None:
        self.page.begin_navigation()
        await self.page.channel.call("Page.navigate", {"url": f"{origin}/"}, within=SECONDS)
        await self.page.until(lambda: not self.page.navigating, SECONDS)
