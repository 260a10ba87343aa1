"""Continuous batching: a thread that continues every sequence under way by one token a step, and lets new ones join between.

A step takes the newest token of each active row and, packed behind them, whole prompts from the queue, up to `PROMPT_TOKENS`
of them. Rows that end leave at once, and the last row moves into the gap. A prompt that begins like one being read in this
very step waits for the next, and takes its beginning from there.

Invariants. The queue and the rows are bounded. Every accepted request is answered exactly once: with a reply, or with an
error that says whose fault it was. A request that is dropped (its client left, its time is up) holds its row for at most one
step more. Weights are swapped only between replies: none is drawn from two sets of weights, and nothing remembered of the
old ones is used by the new.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from webgym.errors import BadRequest, Overloaded, ServerError, Unavailable
from webgym.train.serving.caches import shared
from webgym.train.serving.prompt import Prompt
from webgym.train.serving.runner import Continued, Fresh, Runner
from webgym.train.serving.sampling import Drawn, Sampling, draw
from webgym.train.serving.settings import EngineSettings
from webgym.train.serving.weights import Loaded
from webgym.train.serving.wire import Finish

log = logging.getLogger(__name__)

PROMPT_TOKENS: Final = 4096  # read in one step, beside what is continued
WORTH_WAITING: Final = 64  # tokens that a prompt has in common with one that is being read
RETRY_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Answer:
    """The ids of a reply, end token included, and the log-probability of each."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: Finish


@dataclass(eq=False)
class Ask:
    """One request. `done` is called once, in the engine's thread."""

    prompt: Prompt
    sampling: Sampling
    limit: int
    done: Callable[[Answer | ServerError], None]
    stopped: Callable[[list[int]], bool] = lambda _: False  # whether a reply of these ids contains what ends it
    ends: frozenset[int] = frozenset()
    chance: random.Random = field(default_factory=random.Random)
    dropped: bool = False
    broken: bool = False
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def need(self) -> int:
        return len(self.prompt.ids) + self.limit

    @property
    def identity(self) -> NDArray[np.int64]:
        """Of the tokens whose keys and values are in the row: all but the newest."""
        return np.concatenate([self.prompt.identity, np.asarray(self.ids[:-1], dtype=np.int64)])

    def newest(self) -> Continued:
        behind = len(self.ids) - 1
        return Continued(self.ids[-1], len(self.prompt.ids) + behind, self.prompt.next_position + behind)


@dataclass(frozen=True)
class _Swap:
    loaded: Loaded
    give_up: float
    began: float
    done: Future[float]


class Engine:
    """Enter it to start its thread; leaving answers whatever is left with `Unavailable`."""

    def __init__(self, loaded: Loaded, settings: EngineSettings) -> None:
        self._settings = settings
        self.loaded, self.generation = loaded, 0
        self._runner = Runner(loaded, settings)
        self._waiting: deque[Ask] = deque()
        self._active: list[Ask] = []
        self._swap: _Swap | None = None
        self._stopping = False
        self._bell = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def __enter__(self) -> Engine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._bell:
            self._stopping = True
            self._bell.notify()
        self._thread.join()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def active(self) -> int:
        return len(self._active)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def context(self) -> int:
        return min(self._settings.context, self.loaded.context)

    def submit(self, ask: Ask) -> None:
        """Queue a request. Raises Overloaded if the queue is full, BadRequest for one that could never be served."""
        if ask.need > self.context:
            sizes = f"{len(ask.prompt.ids)} tokens of prompt and {ask.limit} of reply"
            raise BadRequest(f"max_tokens: {sizes} are more than the {self.context} that this server takes")
        if ask.need * self._runner.slots.token_bytes > self._settings.kv_mib << 20:
            raise BadRequest(f"max_tokens: {ask.need} tokens need more memory than kv_mib, {self._settings.kv_mib}, allows")
        with self._bell:
            if self._stopping:
                raise Unavailable("the server is stopping", retry_after=RETRY_SECONDS)
            if len(self._waiting) + len(self._active) >= self._settings.rows + self._settings.waiting:
                raise Overloaded(f"{len(self._waiting)} requests are waiting", retry_after=RETRY_SECONDS)
            self._waiting.append(ask)
            self._bell.notify()

    def drop(self, ask: Ask) -> None:
        """Nobody waits for this any more."""
        ask.dropped = True
        with self._bell:
            if ask not in self._waiting:
                return
            self._waiting.remove(ask)
        _tell(ask, Unavailable("dropped"))

    def swap(self, loaded: Loaded, *, drain_seconds: float) -> Future[float]:
        """Answer with these weights from now on; the result is how many seconds nothing was answered.

        Sequences under way may end for `drain_seconds`; then they are answered with `Unavailable`. Later ones wait.
        """
        now = time.monotonic()
        swap = _Swap(loaded, now + drain_seconds, now, Future())
        with self._bell:
            if self._swap is not None or self._stopping:
                raise Unavailable("the weights are being swapped already", retry_after=RETRY_SECONDS)
            self._swap = swap
            self._bell.notify()
        return swap.done

    def _run(self) -> None:
        torch.set_grad_enabled(False)
        while True:
            with self._bell:
                self._bell.wait_for(lambda: self._active or self._waiting or self._swap or self._stopping)
            if self._stopping:
                break
            self._release(ask for ask in list(self._active) if ask.dropped)
            if self._swap is not None:
                self._try_swap(self._swap)
            self._step()
        self._fail([*self._active, *self._waiting], Unavailable("the server is stopping", retry_after=RETRY_SECONDS))
        if self._swap is not None:
            self._swap.done.set_exception(Unavailable("the server is stopping"))

    def _admit(self) -> list[Fresh]:
        """Requests that join now, each in a row of its own behind the active ones."""
        fresh: list[Fresh] = []
        settled, budget = [ask.prompt.identity for ask in self._active], PROMPT_TOKENS
        while budget > 0 and len(self._active) < self._settings.rows:
            with self._bell:
                if not self._waiting:
                    break
                ask = self._waiting.popleft()
            known = self._runner.known(ask.prompt, settled)
            alike = [shared(one.prompt.identity, ask.prompt.identity) for one in fresh]
            if not self._fits(ask) or (alike and max(alike) >= known.count + WORTH_WAITING):
                with self._bell:
                    self._waiting.appendleft(ask)
                break
            self._active.append(ask)
            fresh.append(self._runner.begin(ask.prompt, len(self._active) - 1, known))
            budget -= fresh[-1].count
        return fresh

    def _fits(self, ask: Ask) -> bool:
        slots, budget = self._runner.slots, self._settings.kv_mib << 20
        most = max([ask.need, *(other.need for other in self._active)])
        if slots.bytes_for(len(self._active) + 1, most) <= budget:
            return True
        if not self._active:
            slots.clear()  # it had grown for others; alone, every request that was accepted fits
        return not self._active

    def _step(self) -> None:
        """One more token for every active sequence, those that join now included."""
        try:
            fresh = self._admit() if self._swap is None else []
            asks = list(self._active)
            if not asks:
                return
            logits = self._runner.step([ask.newest() for ask in asks[: len(asks) - len(fresh)]], fresh)
            drawn = draw(logits, [ask.sampling for ask in asks], [ask.chance.random() for ask in asks])
            self._release(ask for ask, token in zip(asks, drawn, strict=True) if self._take(ask, token))
        except Exception as e:
            # Whatever went wrong, it was in this step's requests or in our code: those are answered, the others go on.
            log.exception("a step failed")
            self._fail(self._active, ServerError(f"the model failed: {type(e).__name__}"))
            self._active.clear()
            self._runner.slots.clear()

    def _take(self, ask: Ask, drawn: Drawn) -> bool:
        """Whether this was the sequence's last token."""
        if drawn.token is None:
            ask.broken = True
            _tell(ask, ServerError("the model's output is not a number: its weights are broken"))
            return True
        ask.ids.append(drawn.token)
        ask.logprobs.append(drawn.logprob)
        finish: Finish | None = None
        if drawn.token in ask.ends or ask.stopped(ask.ids):
            finish = "stop"
        elif len(ask.ids) >= ask.limit:
            finish = "length"
        if finish is None:
            return False
        _tell(ask, Answer(tuple(ask.ids), tuple(ask.logprobs), finish))
        return True

    def _release(self, over: Iterable[Ask]) -> None:
        """Give rows back; what was reckoned in them is kept for prompts that go on from there."""
        for ask in list(over):
            row, last = self._active.index(ask), len(self._active) - 1
            if not ask.broken:
                self._runner.keep(row, ask.identity)
            if row != last:
                other = self._active[last]
                self._runner.slots.move(last, row, other.newest().length)
                self._active[row] = other
            self._active.pop()
            if ask.dropped:
                _tell(ask, Unavailable("dropped"))

    def _try_swap(self, swap: _Swap) -> None:
        if self._active and time.monotonic() < swap.give_up:
            return
        self._fail(self._active, Unavailable("the weights were swapped before the reply was whole", retry_after=0.1))
        self._active.clear()
        self.loaded, self._runner = swap.loaded, Runner(swap.loaded, self._settings)
        self.generation += 1
        self._swap = None
        swap.done.set_result(time.monotonic() - swap.began)

    def _fail(self, asks: list[Ask], error: ServerError) -> None:
        for ask in asks:
            _tell(ask, error)


def _tell(ask: Ask, answer: Answer | ServerError) -> None:
    """Once: a request that was answered stays answered."""
    done, ask.done = ask.done, lambda _: None
    done(answer)
