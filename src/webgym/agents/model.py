"""The agent that asks a model: context, policy and dialect put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from webgym.agents.agent import Decision
from webgym.agents.context import Context, Round, Shot, echo, take
from webgym.agents.dialects import Dialect, Invalid, Screen, after_thoughts, cut_while_thinking, dialect
from webgym.agents.policy import Policy
from webgym.agents.settings import AgentSettings, ContextSettings
from webgym.agents.wording import REMARK, TITLE, describe, line
from webgym.endpoint.messages import Message
from webgym.errors import BrowserError
from webgym.types import Action, Look, Observation, Reply, Task

UNCHANGED = "The page looks the same as before."
CUT_SHORT = "the reply was cut while thinking, before </think>: think more briefly"


@dataclass(frozen=True)
class _Pending:
    """The last decision, until the next observation shows what came of it."""

    shot: Shot
    title: str
    before: str
    reply: str
    found: Action | Invalid
    done: str


class Replies(Protocol):
    """Whoever replies to prompts: a `Policy`, or a teacher that shows how it is done."""

    @property
    def model(self) -> str: ...

    async def ask(self, messages: Sequence[Message], *, episode: str) -> Reply: ...


class ModelAgent:
    """One episode of a model. With `thinking`, what was cut before the thought ended is neither read nor sent again."""

    def __init__(
        self,
        policy: Replies,
        speaker: Dialect,
        context: ContextSettings,
        task: Task,
        episode: str,
        *,
        thinking: bool = False,
    ) -> None:
        self._policy, self._dialect, self._episode, self._thinking = policy, speaker, episode, thinking
        self._context = Context(task.instruction, task.website, context)
        self._pending: _Pending | None = None
        self._count = 0

    @property
    def name(self) -> str:
        return f"{self._dialect.name}/{self._policy.model}"

    @property
    def look(self) -> Look:
        return self._dialect.look

    async def decide(self, observation: Observation) -> Decision:
        shot, seen = take(observation, self._context.settings.image_tokens), observation.screenshot
        if shot is None or seen is None:
            raise BrowserError("the observation has no screenshot, and this agent acts on what it sees")
        self._settle(observation, shot)
        marks = frozenset(mark.id for mark in observation.marks) if observation.marks is not None else None
        screen = Screen(seen.width, seen.height, marks)
        prompt = self._context.prompt(self._dialect.system(screen), observation, shot)
        reply = await self._policy.ask(prompt.messages, episode=self._episode)
        unsaid = self._thinking and cut_while_thinking(reply)
        found = Invalid(CUT_SHORT) if unsaid else self._dialect.read(reply.text, screen)
        self._pending = _Pending(
            shot,
            title=line(observation.title, TITLE) or "(no title)",
            before=prompt.page,
            reply=echo("" if unsaid else after_thoughts(reply.text)),
            found=found,
            done=self._describe(found, screen),
        )
        if isinstance(found, Invalid):
            return Decision(invalid=found.reason, prompt=prompt.turns, reply=reply)
        return Decision(action=found, prompt=prompt.turns, reply=reply)

    async def close(self) -> None:
        self._pending = None

    def _describe(self, found: Action | Invalid, screen: Screen) -> str:
        if isinstance(found, Invalid):
            return "a reply that could not be read"
        return describe(found, lambda x, y: self._dialect.spot(x, y, screen))

    def _settle(self, observation: Observation, shot: Shot) -> None:
        """Now it is known what came of the last decision."""
        last = self._pending
        if last is None:
            return
        self._count += 1
        result, answer = _outcome(last, observation, shot)
        self._context.keep(Round(self._count, last.title, last.before, last.reply, last.done, result, answer), last.shot)
        self._pending = None


def _outcome(last: _Pending, observation: Observation, shot: Shot) -> tuple[str, str]:
    """What came of a decision: in a few words for the record, and as the model is told right after."""
    if isinstance(last.found, Invalid):
        reason = line(last.found.reason, REMARK)
        return (
            "nothing was done",
            f"Your reply could not be read and nothing was done: {reason}. Reply again in the right form.",
        )
    if observation.action_error:
        return "no effect", f"The action had no effect: {line(observation.action_error, REMARK)}"
    if shot.sha256 == last.shot.sha256:
        return "page unchanged", f"The action was done. {UNCHANGED}"
    return "page changed", "The action was done."


class ModelAgents:
    """Makes the agents of a run: `ModelAgents(policy, settings)` is a `NewAgent`."""

    def __init__(self, policy: Policy, settings: AgentSettings) -> None:
        self.policy, self._context, self._thinking = policy, settings.context, settings.thinking
        self.dialect = dialect(
            settings.dialect,
            memory=settings.memory,
            thinking=settings.thinking,
            compact=settings.compact,
            min_pixels=settings.min_pixels,
            max_pixels=settings.max_pixels,
        )

    def __call__(self, task: Task, episode: str) -> ModelAgent:
        return ModelAgent(self.policy, self.dialect, self._context, task, episode, thinking=self._thinking)
