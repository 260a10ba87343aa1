"""One chat completion over HTTP: bytes out, text back, or a typed error. No retries, no meaning.

Invariants. A try has a deadline and its answer a cap. Whether trying again makes sense is in the type of the error:
`EndpointDown` for no connection, a broken or late answer, 408, 409, 425, 429 and 5xx (with `retry_after` if the endpoint
asked for a pause), `EndpointRefused` for any other status. The API key is in no error and no answer, even if echoed. One of
under `SHORTEST_SECRET` characters is no secret and is not hidden: `EMPTY` or `1` is also what a model may have to say.
"""

from __future__ import annotations

import email.utils
import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, Self

from webgym.errors import ConfigError, EndpointDown, EndpointRefused
from webgym.http1 import Answer, Http, HttpError, NotConnected
from webgym.logs import SHORTEST_SECRET, hide

log = logging.getLogger(__name__)

AGAIN: Final = frozenset({408, 409, 425, 429})
OF_THE_REQUEST: Final = frozenset({400, 413, 422})  # refusals of this one question, which anybody would refuse
HIDDEN: Final = "[hidden]"
QUOTED: Final = 2_000  # bytes of a refusal that are looked at
IDLE: Final = 60.0  # seconds a connection stays open for the next question; servers mostly close it after 75


class Transport:
    """The way to one model at one address. Enter it to use it. Whoever asks bounds how many ask at once (`limits`)."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None,
        *,
        connect_timeout: float,
        timeout: float,
        max_reply_bytes: int,
    ) -> None:
        self._url, self._doing, self._key, self._timeout = url, f"model {model}", key, timeout
        self._connect_timeout, self._cap = connect_timeout, max_reply_bytes
        self._secret = key if key and len(key) >= SHORTEST_SECRET else None

    async def __aenter__(self) -> Self:
        secret = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = Http(
            connect=self._connect_timeout,
            idle=IDLE,
            cap=self._cap,
            headers={"Accept": "application/json", "Content-Type": "application/json", **secret},
        )
        self._host = self._http.at(self._url)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def post(self, body: Sequence[bytes], *, turned_away: Callable[[], None] = lambda: None) -> str:
        """The answer's text. `turned_away` is called when the endpoint certainly did no work for this try."""
        try:
            answer = await self._host.ask("POST", "/chat/completions", body=body, within=self._timeout)
        except HttpError as e:
            if isinstance(e, NotConnected):
                turned_away()
            raise EndpointDown(f"{self._doing}: {e}") from e
        if answer.status != 200:
            turned_away()
            text = self._text(answer.body[:QUOTED])
            raise _refusal(f"{self._doing}: status {answer.status}: {text[:300]}", answer)
        if answer.cut:
            raise EndpointDown(f"{self._doing}: the answer is over the cap of {self._cap} bytes")
        return self._text(answer.body)

    def discreet(self, text: str) -> str:
        """The text without the key: an answer may also hold it escaped, so what was decoded is looked through again."""
        return text.replace(self._secret, HIDDEN) if self._secret else text

    def _text(self, data: bytes) -> str:
        return self.discreet(data.decode(errors="replace"))


def read_key(variable: str | None) -> str | None:
    """The API key in that environment variable, from now on hidden in logs if it is long enough to be a secret."""
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError(f"the environment variable {variable} must hold the API key: printable, without blanks")
    if len(key) < SHORTEST_SECRET:
        _warn_of_short(variable)
    hide(key)
    return key


@cache  # once for each variable, however many clients read it
def _warn_of_short(variable: str) -> None:
    log.warning(
        "the key in %s is shorter than %d characters: it is taken for no secret and not hidden", variable, SHORTEST_SECRET
    )


def backoff(failures: int, *, first: float, longest: float, chance: Callable[[], float]) -> float:
    """The jittered pause of our own making after so many failures in a row."""
    return chance() * min(longest, first * 2.0 ** min(failures - 1, 16))


def _refusal(message: str, answer: Answer) -> EndpointDown | EndpointRefused:
    if answer.status in AGAIN or answer.status >= 500:
        return EndpointDown(message, retry_after=_seconds(answer.header(b"retry-after")))
    return EndpointRefused(message, status=answer.status)


def _seconds(retry_after: str) -> float | None:
    """Retry-After in either of its forms; nonsense counts as absent."""
    if not retry_after:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", retry_after):
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
