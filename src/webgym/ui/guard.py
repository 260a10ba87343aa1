"""What stands between the app and strangers: only reading, only from this machine's own address, nothing that executes.

Page titles, addresses and model replies reach a person's browser here, and any page open in that browser can send requests
to this machine. So: no method but GET and HEAD, a Host that is a loopback name (a foreign name that resolves to this machine
is refused), no request that another website started, and on every answer a policy under which only our own files run.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_NAMED: Final = re.compile(r"(\[[0-9a-f:]+\]|[0-9a-z.-]+)(?::\d{1,5})?")


class Guard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = _refusal(scope)
        await (refusal if refusal is not None else self._app)(scope, receive, guarded)


def _refusal(scope: Scope) -> ASGIApp | None:
    headers = Headers(scope=scope)
    if scope["method"] not in ("GET", "HEAD"):
        return PlainTextResponse("Nothing can be changed here.\n", 405, {"allow": "GET, HEAD"})
    if len(headers.getlist("host")) != 1 or not is_own(headers["host"]):
        return PlainTextResponse("That is not this monitor's address.\n", 403)
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{headers['host'].lower()}":
        return PlainTextResponse("Other websites may not read this.\n", 403)
    site = headers.get("sec-fetch-site", "none")
    # A link to the monitor may be followed from anywhere; what it shows is then asked for by the monitor's own page.
    followed = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not (followed and headers.get("sec-fetch-dest") == "document"):
        return PlainTextResponse("Other websites may not read this.\n", 403)
    return None


def is_own(host: str) -> bool:
    """Whether a Host header names this machine by a loopback name."""
    named = _NAMED.fullmatch(host.lower())
    return named is not None and named[1].strip("[]") in LOOPBACK
