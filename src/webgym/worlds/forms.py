"""Forms: what can be entered, what is wrong with it, and what was entered in the steps before.

A handler asks `visit.filled(form)`. It gets the values once every step has been posted and is right; until then it shows
`visit.form(form)`, which repeats what was entered and says what is wrong with it. Checks happen in the server, so that they
hold whatever the browser does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from webgym.worlds.blocks import Block

Entry = Literal[
    "text",
    "email",
    "tel",
    "password",
    "date",
    "number",
    "stepper",
    "slider",
    "select",
    "radio",
    "checkbox",
    "textarea",
    "file",  # its value is the file's name; contents are never sent
    "hidden",
]
STEP: Final = "_step"
MAX_VALUE: Final = 2_000
_PATTERNS: Final[Mapping[str, tuple[str, str]]] = {
    "email": (r"[^@\s]+@[^@\s]+\.[^@\s]+", "Enter an e-mail address such as name@example.com."),
    "tel": (r"[+0-9][0-9 ()-]{5,20}", "Enter a telephone number."),
    "date": (r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", "Enter a date as YYYY-MM-DD."),
    "number": (r"-?\d+(\.\d+)?", "Enter a number."),
    "stepper": (r"\d{1,3}", "Enter a whole number."),
    "slider": (r"-?\d+(\.\d+)?", "Choose a value."),
}


@dataclass(frozen=True)
class Field:
    """One entry. `name` is the key of its value, `label` what a person reads and an agent aims at."""

    name: str
    label: str
    entry: Entry = "text"
    options: tuple[str, ...] = ()
    required: bool = True
    pattern: str = ""
    hint: str = ""
    wrong: str = ""  # what to say when the pattern does not fit
    least: float | None = None
    most: float | None = None
    step: float = 1
    value: str = ""
    matches: str = ""  # the only value that is right, such as a password

    def problem(self, value: str) -> str | None:
        """What is wrong with a value, or None."""
        if not value:
            return f"{self.label} is required." if self.required else None
        if len(value) > MAX_VALUE:
            return f"{self.label} is too long."
        if self.options and value not in self.options:
            return f"Choose one of the options for {self.label.lower()}."
        pattern, wrong = (self.pattern, self.wrong or self.hint) if self.pattern else _PATTERNS.get(self.entry, ("", ""))
        if pattern and not re.fullmatch(pattern, value):
            return wrong or f"{self.label} does not look right."
        if self.least is not None and float(value) < self.least:
            return f"{self.label} must be at least {self.least:g}."
        if self.most is not None and float(value) > self.most:
            return f"{self.label} must be at most {self.most:g}."
        if self.matches and value != self.matches:
            return self.wrong or f"{self.label} is not right."
        return None


@dataclass(frozen=True)
class FormStep:
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Form:
    """Fields in one step or several. `name` must be unique on the site."""

    name: str
    steps: tuple[FormStep, ...]
    submit: str = "Submit"
    action: str = ""  # the page itself, unless given
    note: str = ""

    @classmethod
    def of(cls, name: str, *fields: Field, submit: str = "Submit", note: str = "") -> Form:
        """A form of one step."""
        return cls(name, (FormStep("", fields),), submit, note=note)


@dataclass(frozen=True)
class FormView(Block):
    """A form as it stands: which step, what was entered, what is wrong."""

    form: Form
    step: int
    values: Mapping[str, str]
    problems: Mapping[str, str]
    path: str

    template = "blocks/form.html"

    @property
    def current(self) -> FormStep:
        return self.form.steps[self.step]

    @property
    def last(self) -> bool:
        return self.step == len(self.form.steps) - 1


def entered(step: FormStep, posted: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The values of a step and the problems with them, by field."""
    values: dict[str, str] = {}
    problems: dict[str, str] = {}
    for field in step.fields:
        value = " ".join(posted.get(field.name, "").split())
        if field.entry == "checkbox":
            value = "yes" if value else ""
        values[field.name] = value
        if (problem := field.problem(value)) is not None:
            problems[field.name] = problem
    return values, problems
