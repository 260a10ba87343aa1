"""Answers that say nothing. They cannot pass, and no model is asked about them.

Model judges are known to wave through replies that only open one: a colon, "Thought process:", a plain "yes", the task said
back. An answer counts as empty if nothing is left of it once case, punctuation and such openers are taken away. A bare yes
or no is an answer only where the reference answer is one, too.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from webgym.types import Task

OPENERS: Final = (
    "the answer is", "answer", "final answer", "solution", "the solution is", "thought", "thoughts", "thought process",
    "reasoning", "explanation", "let s think step by step", "let s solve this problem step by step",
    "let us solve this problem step by step", "let me think", "sure", "certainly", "of course", "ok", "okay", "here it is",
    "here is the answer", "respuesta", "solución", "réponse", "antwort", "lösung", "解", "解答", "答案", "かいせつ", "答え",
)  # fmt: skip
BARE: Final = frozenset({"yes", "no", "true", "false", "correct", "right"})

_LONGEST_FIRST: Final = tuple(sorted(OPENERS, key=len, reverse=True))


def says_nothing(answer: str | None, task: Task) -> str | None:
    """Why an answer cannot pass whatever the screenshots show; None if it says something."""
    if answer is None or not answer.strip():
        return "the agent gave no answer"
    words = _words(answer)
    if not words:
        return "the answer has no words"
    if words == _words(task.instruction):
        return "the answer only repeats the task"
    rest = _without_openers(words)
    if not rest:
        return "the answer only opens an answer"
    if rest in BARE and rest != _words(task.reference_answer or ""):
        return f"the answer is a bare {rest!r}"
    return None


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()))


def _without_openers(words: str) -> str:
    at, spaced = 0, f"{words} "
    while opener := next((one for one in _LONGEST_FIRST if spaced.startswith(f"{one} ", at)), None):
        at += len(opener) + 1
    return words[at:]
