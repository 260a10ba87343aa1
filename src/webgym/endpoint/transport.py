"""One chat completion over HTTP: bytes out, text back, or a typed error. No retries, no meaning.

Invariants. A try has a deadline and its answer a cap. Whether trying again makes sense is in the type of the error:
`EndpointDown` for no connection, a broken or late answer, 408, 409, 425, 429 and 5xx (with `retry_after` if the endpoint
asked for a pause), `EndpointRefused` for any other status. The API key is in no error and no answer, even if echoed.
"""

from __future__ import annotations

import email.utils
import io
import os
import re
import time
from collections.abc import Callable
from typing import Final, Self

import aiohttp

from webgym.errors import ConfigError, EndpointDown, EndpointRefused, blame
from webgym.logs import hide

AGAIN: Final = frozenset({408, 409, 425, 429})
HIDDEN: Final = "[hidden]"
QUOTED: Final = 2_000  # bytes of a refusal that are read
AT_ONCE: Final = 1 << 20  # bytes written in one go; aiohttp warns of more, for that would hold up everybody else
IDLE: Final = 60.0  # seconds a connection stays open for the next question; servers mostly close it after 75


class Transport:
    """The way to one model at one address. Enter it to use it."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None,
        *,
        concurrency: int,
        connect_timeout: float,
        timeout: float,
        max_reply_bytes: int,
    ) -> None:
        self._url, self._doing, self._key = f"{url}/chat/completions", f"model {model}", key
        self._concurrency, self._connect_timeout = concurrency, connect_timeout
        self._timeout, self._max_reply_bytes = timeout, max_reply_bytes

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._concurrency, keepalive_timeout=IDLE),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def post(self, body: bytes, *, turned_away: Callable[[], None] = lambda: None) -> str:
        """The answer's text. `turned_away` is called when the endpoint certainly did no work for this try."""
        data = body if len(body) <= AT_ONCE else io.BytesIO(body)
        async with blame(EndpointDown, self._doing, within=self._timeout):
            try:
                response = await self._http.post(
                    self._url, data=data, headers={"Content-Type": "application/json"}, allow_redirects=False
                )
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
                turned_away()
                raise
            async with response:
                if response.status != 200:
                    turned_away()
                    text = await self._text(response, QUOTED, cut=True)
                    raise _refusal(f"{self._doing}: status {response.status}: {text[:300]}", response)
                return await self._text(response, self._max_reply_bytes, cut=False)

    def discreet(self, text: str) -> str:
        """The text without the key: an answer may also hold it escaped, so what was decoded is looked through again."""
        return text.replace(self._key, HIDDEN) if self._key else text

    async def _text(self, response: aiohttp.ClientResponse, cap: int, *, cut: bool) -> str:
        data = bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > cap:
                if not cut:
                    raise EndpointDown(f"{self._doing}: the answer is over the cap of {cap} bytes")
                del data[cap:]
                break
        return self.discreet(data.decode(errors="replace"))


def read_key(variable: str | None) -> str | None:
    """The API key in that environment variable, from now on hidden in logs."""
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError(f"the environment variable {variable} must hold the API key: printable, without blanks")
    hide(key)
    return key


def backoff(failures: int, *, first: float, longest: float, chance: Callable[[], float]) -> float:
    """The jittered pause of our own making after so many failures in a row."""
    return chance() * min(longest, first * 2.0 ** min(failures - 1, 16))


def _refusal(message: str, response: aiohttp.ClientResponse) -> EndpointDown | EndpointRefused:
    status = response.status
    if status in AGAIN or status >= 500:
        return EndpointDown(message, retry_after=_seconds(response.headers.get("Retry-After")))
    return EndpointRefused(message, status=status)


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in either of its forms; nonsense counts as absent."""
    if not retry_after:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", retry_after):
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
