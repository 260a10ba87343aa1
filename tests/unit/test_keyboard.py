"""Key names to events: every spelling ends in the key a person would press, and whatever is held is let go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webgym.server import keyboard
from webgym.server.keyboard import LONG_TEXT, MODIFIERS, UnknownKey


def downs(combination: str) -> list[tuple[str, str, int]]:
    return [
        (event["key"], event["code"], event["modifiers"])
        for _, event in keyboard.press(combination)
        if event["type"] in ("keyDown", "rawKeyDown")
    ]


@pytest.mark.parametrize(
    ("combination", "modifiers", "key"),
    [
        ("a", [], "a"),
        ("Control+A", ["Control"], "A"),
        ("CTRL+shift+Tab", ["Control", "Shift"], "Tab"),
        ("cmd+option+i", ["Meta", "Alt"], "i"),
        ("win+d", ["Meta"], "d"),
        ("kp_enter", [], "Enter"),
        ("Page_Down", [], "PageDown"),
        ("prior", [], "PageUp"),
        ("spacebar", [], " "),
        (" ", [], " "),
        ("+", [], "+"),
        ("plus", [], "+"),
        ("ctrl++", ["Control"], "+"),
        ("Control + c", ["Control"], "c"),
        ("f12", [], "F12"),
        ("é", [], "é"),
        ("Shift", [], "Shift"),
    ],
)
def test_a_combination_is_read_in_any_spelling(combination, modifiers, key):
    assert keyboard.parse(combination) == (modifiers, key)


@pytest.mark.parametrize("combination", ["Hyper+x", "a+b", "F13", "ctrl+", "Enter+x", "Ctrl+Foo", "++a"])
def test_what_is_no_key_is_refused(combination):
    if combination == "ctrl+":
        assert keyboard.parse(combination) == (["Control"], "+"), "a plus sign last is the key itself"
        return
    with pytest.raises(UnknownKey):
        list(keyboard.press(combination))


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        ("Enter", [("Enter", "Enter", 0)]),
        ("a", [("a", "KeyA", 0)]),
        ("A", [("A", "KeyA", 8)]),
        ("?", [("?", "Slash", 8)]),
        ("Shift+a", [("Shift", "ShiftLeft", 8), ("A", "KeyA", 8)]),
        ("Shift+1", [("Shift", "ShiftLeft", 8), ("!", "Digit1", 8)]),
        ("Shift+/", [("Shift", "ShiftLeft", 8), ("?", "Slash", 8)]),
        ("Shift+;", [("Shift", "ShiftLeft", 8), (":", "Semicolon", 8)]),
        ("Shift+?", [("Shift", "ShiftLeft", 8), ("?", "Slash", 8)]),
        ("Control+c", [("Control", "ControlLeft", 2), ("c", "KeyC", 2)]),
        ("Control+K", [("Control", "ControlLeft", 2), ("k", "KeyK", 2)]),
        ("Control++", [("Control", "ControlLeft", 2), ("+", "Equal", 2)]),
    ],
)
def test_a_press_is_the_events_of_a_keyboard(combination, expected):
    assert downs(combination) == expected


def test_text_comes_only_from_keys_that_write():
    def text(combination: str) -> str:
        return "".join(event.get("text", "") for _, event in keyboard.press(combination))

    assert [text(c) for c in ("a", "Shift+a", "Shift+1", "Enter", "space", "Control+a", "Alt+a", "Escape", "F1")] == [
        "a",
        "A",
        "!",
        "\r",
        " ",
        "",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    "combination", ["ctrl+v", "Control+V", "cmd+v", "Control+Shift+v", "Shift+Insert", "Shift+Shift+Insert"]
)
def test_keys_that_paste_do_nothing_by_themselves(combination):
    """The browser would insert what another session has copied."""
    assert keyboard.pastes(combination)
    (_, down), _ = [event for event in keyboard.press(combination) if event[1]["key"] not in keyboard.MODIFIERS]
    assert down["windowsVirtualKeyCode"] == 0
    assert "commands" not in down
    assert not keyboard.pastes("v")
    assert not keyboard.pastes("Insert")


@pytest.mark.parametrize(("combination", "command"), [("ctrl+a", "selectAll"), ("cmd+c", "copy"), ("Control+Z", "undo")])
def test_editing_combinations_carry_their_command(combination, command):
    assert [event["commands"] for _, event in keyboard.press(combination) if "commands" in event] == [[command]]


@given(st.lists(st.sampled_from(sorted(MODIFIERS)), unique=True), st.sampled_from(["a", "Enter", "F5", "?", "é", "Tab"]))
def test_everything_pressed_is_let_go(modifiers, key):
    events = [event for _, event in keyboard.press("+".join([*modifiers, key]))]
    pressed = [event["key"] for event in events if event["type"] != "keyUp"]
    released = [event["key"] for event in events if event["type"] == "keyUp"]
    assert sorted(pressed) == sorted(released)
    assert events[-1]["modifiers"] in (0, MODIFIERS["Shift"] if not modifiers else 0)


def typed(text: str) -> str:
    """What a field would hold after the events."""
    held = ""
    commands: list[tuple[str, dict[str, Any]]] = list(keyboard.write(text))
    for _, event in commands:
        if event.get("type") != "keyUp":
            held += event.get("text", "").replace("\r", "\n")
    return held


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=2 * LONG_TEXT))
def test_any_text_is_written_as_it_is(text):
    assert typed(text) == text.replace("\r\n", "\n").replace("\r", "\n")


def test_a_long_text_is_typed_first_and_inserted_after():
    commands = list(keyboard.write("x" * (LONG_TEXT + 50)))
    assert commands[-1] == ("Input.insertText", {"text": "x" * 50})
    assert len(commands) == 2 * LONG_TEXT + 1
