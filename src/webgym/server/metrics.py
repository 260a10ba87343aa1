"""What a worker counts, as Prometheus metrics. Labels come from closed sets, so that no client can grow them."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._steps = Counter("webgym_steps", "Steps done.", ["action"], registry=self.registry)
        self._step_seconds = Histogram(
            "webgym_step_seconds", "A step, from action to observation.", buckets=SECONDS, registry=self.registry
        )
        self._settle_seconds = Histogram(
            "webgym_settle_seconds", "Waiting for pages to come to rest.", buckets=SECONDS, registry=self.registry
        )
        self._start_seconds = Histogram(
            "webgym_session_start_seconds", "A new session, to its first look.", buckets=SECONDS, registry=self.registry
        )
        self._ended = Counter("webgym_sessions_ended", "Sessions ended.", ["why"], registry=self.registry)
        self._refused = Counter("webgym_refusals", "Requests refused.", ["code"], registry=self.registry)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read when somebody asks."""
        Gauge(name, text, registry=self.registry).set_function(read)

    def step(self, action: str, seconds: float, settling: float) -> None:
        self._steps.labels(action).inc()
        self._step_seconds.observe(seconds)
        self._settle_seconds.observe(settling)

    def session_started(self, seconds: float) -> None:
        self._start_seconds.observe(seconds)

    def session_ended(self, why: str) -> None:
        self._ended.labels(why).inc()

    def refused(self, code: str) -> None:
        self._refused.labels(code).inc()

    def text(self) -> bytes:
        return generate_latest(self.registry)
