"""Names of keys to the events a keyboard would make of them (US layout).

A combination is `Modifier+…+Key`; names are those of `KeyboardEvent.key`, with the common spellings of model families
(`ctrl`, `cmd`, `return`, `esc`, `pgdn`, …) understood whatever their case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

# key → (code, windows virtual key code)
_NAMED: dict[str, tuple[str, int]] = {
    "Alt": ("AltLeft", 18),
    "ArrowDown": ("ArrowDown", 40),
    "ArrowLeft": ("ArrowLeft", 37),
    "ArrowRight": ("ArrowRight", 39),
    "ArrowUp": ("ArrowUp", 38),
    "Backspace": ("Backspace", 8),
    "CapsLock": ("CapsLock", 20),
    "ContextMenu": ("ContextMenu", 93),
    "Control": ("ControlLeft", 17),
    "Delete": ("Delete", 46),
    "End": ("End", 35),
    "Enter": ("Enter", 13),
    "Escape": ("Escape", 27),
    "Home": ("Home", 36),
    "Insert": ("Insert", 45),
    "Meta": ("MetaLeft", 91),
    "PageDown": ("PageDown", 34),
    "PageUp": ("PageUp", 33),
    "Pause": ("Pause", 19),
    "Shift": ("ShiftLeft", 16),
    "Tab": ("Tab", 9),
    **{f"F{n}": (f"F{n}", 111 + n) for n in range(1, 13)},
}
_SPELLINGS = {
    "ctrl": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "super": "Meta",
    "win": "Meta",
    "option": "Alt",
    "return": "Enter",
    "kp_enter": "Enter",
    "esc": "Escape",
    "del": "Delete",
    "ins": "Insert",
    "pgup": "PageUp",
    "page_up": "PageUp",
    "prior": "PageUp",
    "pgdn": "PageDown",
    "pagedn": "PageDown",
    "page_down": "PageDown",
    "next": "PageDown",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "space": " ",
    "spacebar": " ",
    "plus": "+",
    "minus": "-",
    **{name.lower(): name for name in _NAMED},
}
_SHIFTED = dict(zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True))
_WITH_SHIFT = {plain: shifted for shifted, plain in _SHIFTED.items()}
_PUNCTUATION = {
    " ": ("Space", 32),
    "`": ("Backquote", 192),
    "-": ("Minus", 189),
    "=": ("Equal", 187),
    "[": ("BracketLeft", 219),
    "]": ("BracketRight", 221),
    "\\": ("Backslash", 220),
    ";": ("Semicolon", 186),
    "'": ("Quote", 222),
    ",": ("Comma", 188),
    ".": ("Period", 190),
    "/": ("Slash", 191),
}
# What an editor does with these is decided by the browser's shell, which a headless browser lacks.
_EDITING = {"a": "selectAll", "c": "copy", "x": "cut", "z": "undo", "y": "redo"}

LONG_TEXT = 300


class UnknownKey(ValueError):
    """No key has that name."""


def parse(combination: str) -> tuple[list[str], str]:
    """`Control+Shift+T` → (["Control", "Shift"], "T"). A plus sign alone, or last, is the key itself."""
    parts = combination.split("+")
    if combination.endswith("+"):
        parts = [*combination[:-1].rstrip("+").split("+"), "+"] if len(combination) > 1 else ["+"]
    names = [_named(part.strip() or part) for part in parts]
    *modifiers, key = names
    for name in modifiers:
        if name not in MODIFIERS:
            raise UnknownKey(f"{name!r} in {combination!r} is not a modifier (Alt, Control, Meta, Shift)")
    return modifiers, key


def pastes(combination: str) -> bool:
    """Whether an editor inserts what was copied. The browser has one clipboard for all its sessions, so whoever presses
    these keys inserts his session's own, and the keys themselves do nothing (see `press`)."""
    modifiers, key = parse(combination)
    if key == "Insert":
        return "Shift" in modifiers
    return key.lower() == "v" and not {"Control", "Meta"}.isdisjoint(modifiers)


def _named(name: str) -> str:
    known = _SPELLINGS.get(name.lower())
    if known is not None:
        return known
    if len(name) == 1:
        return name
    raise UnknownKey(f"no key is called {name!r}")


def press(combination: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The commands that press one combination and let go of it."""
    modifiers, key = parse(combination)
    held = 0
    for name in modifiers:
        held |= MODIFIERS[name]
        yield _event("keyDown", name, held)
    shifted = bool(held & MODIFIERS["Shift"])
    if len(key) == 1 and shifted:
        typed = _WITH_SHIFT.get(key, key.upper())
    else:
        typed = key.lower() if modifiers and len(key) == 1 else key  # Control+K is Control and the key, no capital
    if not held and _needs_shift(typed):
        held = MODIFIERS["Shift"]
    down = _event("keyDown", typed, held, text=_text(typed) if not held & ~MODIFIERS["Shift"] else "")
    if held & (MODIFIERS["Control"] | MODIFIERS["Meta"]) and key.lower() in _EDITING:
        down[1]["commands"] = [_EDITING[key.lower()]]
    if pastes(combination):
        down[1]["windowsVirtualKeyCode"] = 0  # by which Chromium's editor knows what it should do
    yield down
    yield _event("keyUp", typed, held)
    for name in reversed(modifiers):
        held &= ~MODIFIERS[name]
        yield _event("keyUp", name, held)


def write(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The commands that type a text: key by key, so that pages which listen to keys hear them; what is very long, and
    what no key makes, is inserted as an input method would."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for character in text[:LONG_TEXT]:
        if character == "\n":
            yield _event("keyDown", "Enter", 0, text="\r")
            yield _event("keyUp", "Enter", 0)
        elif _code(character) is None:
            yield "Input.insertText", {"text": character}
        else:
            shift = MODIFIERS["Shift"] if _needs_shift(character) else 0
            yield _event("keyDown", character, shift, text=character)
            yield _event("keyUp", character, shift)
    if len(text) > LONG_TEXT:
        yield "Input.insertText", {"text": text[LONG_TEXT:]}


def _needs_shift(key: str) -> bool:
    return len(key) == 1 and (key in _SHIFTED or (key.isascii() and key.isupper()))


def _text(key: str) -> str:
    if key == "Enter":
        return "\r"
    return key if len(key) == 1 else ""


def _code(key: str) -> tuple[str, int] | None:
    if key in _NAMED:
        return _NAMED[key]
    base = _SHIFTED.get(key, key)
    if base in _PUNCTUATION:
        return _PUNCTUATION[base]
    if len(base) == 1 and base.isascii() and base.isalpha():
        return f"Key{base.upper()}", ord(base.upper())
    if len(base) == 1 and base.isascii() and base.isdigit():
        return f"Digit{base}", ord(base)
    return None


def _event(kind: str, key: str, modifiers: int, text: str = "") -> tuple[str, dict[str, Any]]:
    code, number = _code(key) or ("", 0)
    params: dict[str, Any] = {
        "type": "rawKeyDown" if kind == "keyDown" and not text else kind,
        "key": key,
        "code": code,
        "windowsVirtualKeyCode": number,
        "modifiers": modifiers,
    }
    if text:
        params["text"] = text
    return "Input.dispatchKeyEvent", params
