"""Every dialect: nothing raises, nothing is guessed, what is written is read again, clicks land where they should."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.agents.actions import MARKS, SCREENS, actions, assert_same
from webgym import types as t
from webgym.agents.dialects import (
    DIALECTS,
    DialectName,
    Inexpressible,
    Invalid,
    Screen,
    after_thoughts,
    anthropic_computer_use,
    computer_use,
    dialect,
    gemini_computer_use,
    openai_computer_use,
    ui_tars,
    web_interaction,
)
from webgym.agents.dialects.dialect import MAX_REPLY
from webgym.agents.dialects.grids import Grid, Pixels, Relative, Resized
from webgym.agents.wording import REMARK

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
GRIDS: dict[DialectName, Grid] = {
    "qwen3_vl": Relative(), "qwen3_vl_marks": Relative(), "qwen3_5": Relative(), "qwen3_5_marks": Relative(),
    "qwen2_5_vl": Resized(), "ui_tars": Relative(), "ui_tars_1_5": Resized(), "openai_computer_use": Pixels(),
    "anthropic_computer_use": Pixels(), "gemini_computer_use": Relative(largest=999),
}  # fmt: skip
COMMON = {"click", "hover", "scroll", "wait", "back", "navigate", "answer", "type"}
EXPRESSIBLE: dict[DialectName, set[str]] = {
    "qwen3_vl": COMMON | {"drag", "key", "terminate"},
    "qwen3_vl_marks": COMMON | {"select"},
    "qwen3_5": COMMON | {"drag", "key", "terminate"},
    "qwen3_5_marks": COMMON | {"select"},
    "qwen2_5_vl": COMMON | {"drag", "key", "terminate"},
    "ui_tars": COMMON | {"drag", "key", "terminate"},
    "ui_tars_1_5": COMMON | {"drag", "key", "terminate"},
    "openai_computer_use": COMMON | {"drag", "key"},
    "anthropic_computer_use": COMMON | {"drag", "key"},
    "gemini_computer_use": COMMON | {"drag", "key", "forward"},
}
EXAMPLE_CLICKS: dict[DialectName, str] = {
    "qwen3_vl": '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [X, Y]}}',
    "qwen3_5": '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [X, Y]}}',
    "qwen2_5_vl": '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [X, Y]}}',
    "openai_computer_use": '{"name": "computer", "arguments": {"type": "click", "button": "left", "x": X, "y": Y}}',
    "anthropic_computer_use": '{"name": "computer", "arguments": {"action": "left_click", "coordinate": [X, Y]}}',
    "gemini_computer_use": '{"name": "click_at", "arguments": {"x": X, "y": Y}}',
    "ui_tars": "Action: click(start_box='(X,Y)')",
    "ui_tars_1_5": "Action: click(start_box='(X,Y)')",
}
WIDE = SCREENS[0]


def click(name: DialectName, x: object, y: object) -> str:
    call = EXAMPLE_CLICKS[name].replace("X", str(x)).replace("Y", str(y))
    return call if call.startswith("Action") else tagged(call)


def tagged(call: str) -> str:
    return f"I see a button.\n<tool_call>\n{call}\n</tool_call>"


def computer(**arguments: Any) -> str:
    return tagged(json.dumps({"name": "computer_use", "arguments": arguments}))


every_dialect = pytest.mark.parametrize("name", DIALECTS)
every_pointer = pytest.mark.parametrize("name", list(EXAMPLE_CLICKS))
anything = st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("latin-1"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@every_dialect
@QUICK
@given(reply=anything, screen=st.sampled_from(SCREENS))
def test_random_text_is_never_an_exception_and_never_an_action(name: DialectName, reply: str, screen: Screen) -> None:
    assert isinstance(dialect(name).read(reply, screen), Invalid)


@every_dialect
@QUICK
@given(data=st.data(), screen=st.sampled_from(SCREENS))
def test_a_damaged_call_is_an_action_or_invalid_but_never_an_exception(
    name: DialectName, data: st.DataObject, screen: Screen
) -> None:
    speaker = dialect(name)
    try:
        call = speaker.write(data.draw(actions(screen)), screen)
    except Inexpressible:
        assume(False)
    at, length = data.draw(st.integers(0, len(call))), data.draw(st.integers(0, 8))
    damaged = call[:at] + data.draw(anything) + call[at + length :]
    found = speaker.read(damaged, screen)
    if not isinstance(found, Invalid):
        t.Step(index=0, screenshot=None, url="", title="", action=found).model_dump_json()
        for x, y in _pixels(found):
            assert 0 <= x <= screen.width - 1
            assert 0 <= y <= screen.height - 1


def _pixels(action: t.Action) -> list[tuple[float, float]]:
    aimed = [(action.x, action.y)] if isinstance(action, t.Aimed) and action.x is not None else []
    return [*aimed, *([(action.to_x, action.to_y)] if isinstance(action, t.Drag) else [])]  # type: ignore[list-item]


@pytest.mark.parametrize("name", [name for name in DIALECTS if "tars" not in name])
@QUICK
@given(
    tool=st.sampled_from(["computer_use", "web_interaction", "computer", "click_at", "type_text_at", "nothing"]),
    data=st.data(),
)
def test_any_json_as_arguments_is_never_an_exception(name: DialectName, tool: str, data: st.DataObject) -> None:
    keys = [
        "action",
        "type",
        "coordinate",
        "text",
        "x",
        "y",
        "keys",
        "pixels",
        "time",
        "element_id",
        "button",
        "path",
        "url",
    ]
    action = st.sampled_from(["left_click", "type", "key", "scroll", "wait", "drag", "click", "answer", "navigate"])
    values = data.draw(st.dictionaries(st.sampled_from(keys), action | json_values, max_size=6))
    found = dialect(name).read(tagged(json.dumps({"name": tool, "arguments": values})), WIDE)
    assert isinstance(found, Invalid | t.Wire)


@every_dialect
@pytest.mark.parametrize("screen", SCREENS, ids=lambda s: f"{s.width}x{s.height}")
@QUICK
@given(data=st.data())
def test_what_is_written_is_read_again(name: DialectName, screen: Screen, data: st.DataObject) -> None:
    speaker = dialect(name)
    said = data.draw(actions(screen))
    try:
        text = speaker.write(said, screen)
    except Inexpressible:
        assume(False)
    marked = Screen(screen.width, screen.height, MARKS)
    read = speaker.read(f"Here is my call.\n{text}", marked)
    assert not isinstance(read, Invalid), (text, read)
    assert_same(said, read, screen, GRIDS[name].extent(screen))


@every_dialect
def test_a_dialect_has_words_for_the_actions_it_promises(name: DialectName) -> None:
    aim: dict[str, Any] = {"element": 3} if name.endswith("marks") else {"x": 10, "y": 20}
    focus = name in ("openai_computer_use", "anthropic_computer_use", "ui_tars", "ui_tars_1_5")
    samples: list[t.Action] = [
        t.Click(**aim), t.Hover(**aim), t.Scroll(**aim, dy=500 if "gemini" not in name else WIDE.height / 2),
        t.Type(text="a", enter=not focus) if focus else t.Type(**aim, text="a"), t.Key(keys=("Control+a",)),
        t.Wait(seconds={"openai_computer_use": 2}.get(name, 5)), t.Back(), t.Forward(), t.Navigate(url="https://x.org/"),
        t.Answer(text="42"), t.Terminate(status="failure"), t.Select(**aim, options=("Red",)), t.Reload(), t.NewTab(),
        t.Drag(x=1, y=2, to_x=30, to_y=40), t.Upload(**aim, files=("a",)), t.SwitchTab(tab=1), t.CloseTab(),
    ]  # fmt: skip
    said = set()
    for action in samples:
        try:
            text = dialect(name).write(action, WIDE)
        except Inexpressible:
            continue
        found = dialect(name).read(text, WIDE)
        assert not isinstance(found, Invalid), found
        assert found.kind == action.kind
        said.add(action.kind)
    assert said == EXPRESSIBLE[name]


TALL, SMALL = SCREENS[1], SCREENS[2]
LANDINGS: list[tuple[DialectName, Screen, tuple[int, int], tuple[float, float]]] = [
    ("qwen3_vl", WIDE, (500, 500), (640, 384)),
    ("qwen3_vl", WIDE, (0, 0), (0, 0)),
    ("qwen3_vl", WIDE, (1000, 1000), (1279, 767)),
    ("qwen3_vl", WIDE, (999, 999), (1278.72, 767)),
    ("qwen3_vl", TALL, (500, 250), (195, 211)),
    ("qwen3_vl", SMALL, (1000, 1000), (223, 159)),
    ("qwen3_vl", SMALL, (250, 750), (56, 120)),
    ("qwen3_5", WIDE, (125, 875), (160, 672)),
    ("qwen3_5", TALL, (1000, 0), (389, 0)),
    ("qwen3_5", SMALL, (500, 999), (112, 159)),
    ("qwen2_5_vl", WIDE, (644, 378), (640, 384)),  # 1288 × 756 after resizing
    ("qwen2_5_vl", WIDE, (1288, 756), (1279, 767)),
    ("qwen2_5_vl", TALL, (196, 420), (195, 422)),  # 392 × 840
    ("qwen2_5_vl", SMALL, (112, 84), (112, 80)),  # 224 × 168
    ("ui_tars", WIDE, (250, 250), (320, 192)),
    ("ui_tars", TALL, (500, 1000), (195, 843)),
    ("ui_tars", SMALL, (750, 250), (168, 40)),
    ("ui_tars_1_5", WIDE, (644, 378), (640, 384)),
    ("ui_tars_1_5", TALL, (392, 210), (389, 211)),
    ("ui_tars_1_5", SMALL, (56, 168), (56, 159)),
    ("openai_computer_use", WIDE, (1279, 0), (1279, 0)),
    ("openai_computer_use", TALL, (389, 843), (389, 843)),
    ("openai_computer_use", SMALL, (17, 159), (17, 159)),
    ("anthropic_computer_use", WIDE, (0, 767), (0, 767)),
    ("anthropic_computer_use", TALL, (195, 422), (195, 422)),
    ("anthropic_computer_use", SMALL, (223, 159), (223, 159)),
    ("gemini_computer_use", WIDE, (500, 500), (640, 384)),
    ("gemini_computer_use", WIDE, (999, 999), (1278.72, 767)),
    ("gemini_computer_use", TALL, (500, 750), (195, 633)),
    ("gemini_computer_use", SMALL, (999, 500), (223, 80)),
]


@pytest.mark.parametrize(("name", "screen", "spoken", "pixel"), LANDINGS)
def test_coordinates_land_on_the_right_pixel(
    name: DialectName, screen: Screen, spoken: tuple[int, int], pixel: tuple[float, float]
) -> None:
    found = dialect(name).read(click(name, *spoken), screen)
    assert isinstance(found, t.Click), found
    assert (found.x, found.y) == pytest.approx(pixel)


def test_every_dialect_that_points_is_held_to_pixels_on_every_screen() -> None:
    assert {(name, screen) for name, screen, _, _ in LANDINGS} == {
        (name, screen) for name in EXAMPLE_CLICKS for screen in SCREENS
    }


@every_pointer
@pytest.mark.parametrize(
    "bad", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "100000", "true", "null", '"500"', "9" * 5000]
)
def test_a_coordinate_that_is_no_place_on_the_screen_is_never_a_click(name: DialectName, bad: str) -> None:
    assert isinstance(dialect(name).read(click(name, bad, 5), WIDE), Invalid)
    assert isinstance(dialect(name).read(click(name, 5, bad), WIDE), Invalid)


@pytest.mark.parametrize(
    ("name", "x"),
    [("qwen3_vl", 1001), ("gemini_computer_use", 1000), ("openai_computer_use", 1280), ("anthropic_computer_use", 1280),
     ("qwen2_5_vl", 1289), ("ui_tars", 1001), ("ui_tars_1_5", 1289)],
)  # fmt: skip
def test_the_first_coordinate_off_the_grid_is_refused(name: DialectName, x: int) -> None:
    found = dialect(name).read(click(name, x, 5), WIDE)
    assert isinstance(found, Invalid)
    assert "between 0 and" in found.reason
    assert isinstance(dialect(name).read(click(name, x - 1, 5), WIDE), t.Click)


@every_dialect
def test_a_hundred_thousand_tokens_are_refused_at_once(name: DialectName) -> None:
    for filler in ("click ", "<tool_call>", "[" * 5, "Action: wait()\n", "<parameter=a>", "\\'"):
        before = time.process_time()
        assert isinstance(dialect(name).read((filler * 100_000)[: MAX_REPLY + 1], WIDE), Invalid)
        assert isinstance(dialect(name).read((filler * 100_000)[:MAX_REPLY], WIDE), Invalid)
        assert time.process_time() - before < 1


def test_deeply_nested_json_is_invalid() -> None:
    assert isinstance(dialect("qwen3_vl").read(tagged("[" * 90_000 + "]" * 90_000), WIDE), Invalid)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no calls"),
        ("I am done.", "no calls"),
        (computer(action="wait") * 2, "2 calls"),
        (tagged('{"name": "computer_use", "arguments": {"action": "wait"'), "not JSON"),
        (tagged('{"name": "computer_use", "arguments": {"action": "wait", "action": "wait"}}'), "not JSON"),
        (tagged('{"name": "computer_use", "arguments": []}'), "must be an object"),
        (tagged('{"arguments": {"action": "wait"}}'), "must look like"),
        (tagged('{"name": "shell", "arguments": {"action": "wait"}}'), "no tool 'shell'"),
        (computer(action="fly"), "no action 'fly'"),
        (computer(), "action is missing"),
        (computer(action="left_click"), "coordinate is missing"),
        (computer(action="left_click", coordinate=[1, 2, 3]), "must be [x, y]"),
        (computer(action="left_click", coordinate="1, 2"), "must be a list"),
        (computer(action="type"), "text is missing"),
        (computer(action="type", text=5), "must be a text"),
        (computer(action="type", text="x" * 20_001), "not possible"),
        (computer(action="wait", time=31), "not possible"),
        (computer(action="wait", time=-1), "not possible"),
        (computer(action="key", keys=[]), "list of texts"),
        (computer(action="navigate", url=" "), "not possible"),
        (computer(action="terminate", status="maybe"), "must be one of success, failure"),
        (computer(action="type", text="\ud800"), "not possible"),
        (f"<think>{computer(action='wait')}</think>Done.", "no calls"),
        (f"<think>I could {computer(action='wait')}", "no calls"),
    ],
)  # fmt: skip
def test_an_unreadable_reply_says_what_is_wrong_with_it(reply: str, reason: str) -> None:
    found = dialect("qwen3_vl").read(reply, WIDE)
    assert isinstance(found, Invalid)
    assert reason in found.reason
    found.reason.encode()  # it goes back to the model


VOCABULARIES: dict[DialectName, tuple[str, tuple[str, ...]]] = {
    "qwen3_vl": ('{"name": "computer_use", "arguments": {"action": "WORD"}}', computer_use.ACTIONS),
    "qwen3_vl_marks": ('{"name": "web_interaction", "arguments": {"action": "WORD"}}', web_interaction.ACTIONS),
    "openai_computer_use": ('{"name": "computer", "arguments": {"type": "WORD"}}', openai_computer_use.ACTIONS),
    "anthropic_computer_use": ('{"name": "computer", "arguments": {"action": "WORD"}}', anthropic_computer_use.ACTIONS),
    "gemini_computer_use": ('{"name": "WORD", "arguments": {}}', gemini_computer_use.FUNCTIONS),
    "ui_tars": ("Action: WORD()", ui_tars.ACTIONS),
}


@pytest.mark.parametrize("name", list(VOCABULARIES))
@pytest.mark.parametrize("word", ["hold_key", "left_mouse_down", "cursor_position", "zoom", "search"])
def test_a_word_from_elsewhere_is_answered_with_those_that_exist(name: DialectName, word: str) -> None:
    form, known = VOCABULARIES[name]

    def said(word: str) -> str:
        call = form.replace("WORD", word)
        found = dialect(name).read(call if call.startswith("Action") else tagged(call), WIDE)
        return found.reason if isinstance(found, Invalid) else ""

    assert said(word).startswith("there is no ")
    assert all(one in said(word) for one in known)
    assert len(said(word)) <= REMARK  # the model reads all of it
    assert not any(said(one).startswith("there is no ") for one in known)


@pytest.mark.parametrize(
    ("name", "call", "action"),
    [
        ("openai_computer_use", '{"type": "click", "button": "back", "x": 1, "y": 2}', t.Back()),
        ("openai_computer_use", '{"type": "click", "button": "forward", "x": 1, "y": 2}', t.Forward()),
        ("openai_computer_use", '{"type": "click", "button": "wheel", "x": 1, "y": 2}', t.Click(x=1, y=2, button="middle")),
        ("anthropic_computer_use", '{"action": "left_click", "coordinate": [1, 2], "text": ""}', t.Click(x=1, y=2)),
        (
            "anthropic_computer_use",
            '{"action": "left_click", "coordinate": [1, 2], "text": "ctrl"}',
            t.Click(x=1, y=2, modifiers=("Control",)),
        ),
        ("anthropic_computer_use", '{"action": "key", "text": "Down", "repeat": 3}', t.Key(keys=("Down",) * 3)),
        (
            "anthropic_computer_use",
            '{"action": "key", "text": "Tab ctrl+a", "repeat": 2}',
            t.Key(keys=("Tab", "ctrl+a") * 2),
        ),
        ("anthropic_computer_use", '{"action": "key", "text": "Down", "repeat": 1}', t.Key(keys=("Down",))),
    ],
)
def test_the_computer_tools_are_read_as_their_apis_have_them(name: DialectName, call: str, action: t.Action) -> None:
    assert dialect(name).read(tagged(f'{{"name": "computer", "arguments": {call}}}'), WIDE) == action


@pytest.mark.parametrize(("text", "repeat"), [("Down", 0), ("Down", -1), ("Down", 65), ("Tab Down", 33), ("Down", 1.5)])
def test_a_key_that_is_repeated_more_often_than_an_action_may_press_is_invalid(text: str, repeat: float) -> None:
    call = {"name": "computer", "arguments": {"action": "key", "text": text, "repeat": repeat}}
    found = dialect("anthropic_computer_use").read(tagged(json.dumps(call)), WIDE)
    assert isinstance(found, Invalid)
    assert found.reason.startswith("repeat is "), found.reason


def test_an_action_presses_as_many_keys_as_the_dialect_thinks() -> None:
    most = ("Down",) * anthropic_computer_use.MOST_KEYS
    assert t.Key(keys=most).keys == most
    with pytest.raises(ValidationError):
        t.Key(keys=(*most, "Down"))


def test_thoughts_before_the_call_do_not_hinder_it() -> None:
    for opening in ("<think>", ""):  # Qwen's template may have opened the block itself
        reply = f"{opening}Perhaps {computer(action='go_back')}?</think>\n{computer(action='wait', time=2)}"
        assert dialect("qwen3_vl", thinking=True).read(reply, WIDE) == t.Wait(seconds=2)
    assert after_thoughts("<think>a</think>b<think>c") == "b"


def test_a_server_that_stops_before_the_closing_tag_is_understood() -> None:
    assert (
        dialect("qwen3_vl").read('<tool_call>\n{"name": "computer_use", "arguments": {"action": "go_back"}}', WIDE)
        == t.Back()
    )


def test_typing_clicks_types_and_presses_enter() -> None:
    found = dialect("qwen3_vl").read(computer(action="type", coordinate=[500, 500], text="shoes"), WIDE)
    assert found == t.Type(x=640, y=384, text="shoes", enter=True)


def test_negative_pixels_scroll_down() -> None:
    assert dialect("qwen3_vl").read(computer(action="scroll", pixels=-300), WIDE) == t.Scroll(dy=300)


def test_the_memory_format_is_read_with_its_parts() -> None:
    reply = 'Memory: ["price is 5"]\nProgress: []\nIntention: go\nAction: I go back.\n' + computer(action="go_back")
    assert dialect("qwen3_vl", memory=True).read(reply, WIDE) == t.Back()


def test_an_element_that_is_not_on_the_screenshot_is_refused() -> None:
    def by_number(element: object) -> t.Action | Invalid:
        call = {"name": "web_interaction", "arguments": {"action": "click", "element_id": element}}
        return dialect("qwen3_vl_marks").read(tagged(json.dumps(call)), Screen(1280, 768, MARKS))

    assert by_number(7) == t.Click(element=7)
    for unknown in (0, -1, 40, 1.5, "7", 10**30, True, None):
        assert isinstance(by_number(unknown), Invalid)


def test_marks_are_looked_at_only_where_they_are_used() -> None:
    assert [name for name in DIALECTS if dialect(name).look.marks] == ["qwen3_vl_marks", "qwen3_5_marks"]


XML = "<tool_call>\n<function=computer_use>\n<parameter=action>\n{}\n</parameter>\n{}</function>\n</tool_call>"


def test_qwen3_5_reads_xml_and_json_calls() -> None:
    speaker = dialect("qwen3_5")
    xml = XML.format("left_click", "<parameter=coordinate>\n[500, 500]\n</parameter>\n")
    assert speaker.read(xml, WIDE) == t.Click(x=640, y=384)
    assert speaker.read(computer(action="left_click", coordinate=[500, 500]), WIDE) == t.Click(x=640, y=384)
    text = XML.format("type", "<parameter=text>\n12\n\nlines\n</parameter>\n<parameter=press_enter>\nFalse\n</parameter>\n")
    assert speaker.read(text, WIDE) == t.Type(text="12\n\nlines")


@pytest.mark.parametrize(
    "inside",
    [
        "<parameter=action>\nwait\n</parameter>\n",
        "<parameter=time>\nNaN\n</parameter>\n",
        "<parameter=time>\n5",
        "<parameter=time>\n5\n</parameter>\nand more",
    ],
)
def test_broken_xml_is_invalid(inside: str) -> None:
    assert isinstance(dialect("qwen3_5").read(XML.format("wait", inside), WIDE), Invalid)


def test_qwen3_vl_does_not_read_xml() -> None:
    assert isinstance(dialect("qwen3_vl").read(XML.format("go_back", ""), WIDE), Invalid)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Thought: I see it.\nAction: click(start_box='<|box_start|>(500,500)<|box_end|>')", t.Click(x=640, y=384)),
        ("Action: click(point='<point>500 500</point>')", t.Click(x=640, y=384)),
        ("Action: type(content='it\\'s\\n')", t.Type(text="it's", enter=True)),
        ("Action: finished(content=\"a 'b'\")", t.Answer(text="a 'b'")),
        ("Action: finished()", t.Terminate(status="success")),
        ("Action: hotkey(key='ctrl a')", t.Key(keys=("ctrl+a",))),
        ("Action: scroll(direction='down')", t.Scroll(dy=500)),
        ("Action: scroll(start_box='(500,500)', direction='left')", t.Scroll(x=640, y=384, dx=-500)),
    ],
)
def test_ui_tars_calls_are_read_in_their_spellings(reply: str, action: t.Action) -> None:
    assert dialect("ui_tars").read(reply, WIDE) == action


@pytest.mark.parametrize(
    "reply",
    [
        "click(start_box='(5,5)')",
        "Action: click(start_box='(5,5)')\n\nclick(start_box='(6,6)')",
        "Action: click(start_box='(5,5)'",
        "Action: click(start_box='(5,5,6,6)')",
        "Action: click(start_box='(5,5)', start_box='(6,6)')",
        "Action: click()",
        "Action: scroll(start_box='(5,5)', direction='sideways')",
        "Action: __import__('os')",
        "Action: wait() Action: wait()",
    ],
)
def test_ui_tars_calls_that_are_not_exactly_one_are_invalid(reply: str) -> None:
    assert isinstance(dialect("ui_tars").read(reply, WIDE), Invalid)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("thinking", [True, False])
@every_dialect
def test_the_prompt_teaches_the_form_that_is_read(name: DialectName, memory: bool, thinking: bool) -> None:
    speaker = dialect(name, memory=memory, thinking=thinking)
    prompt = speaker.system(WIDE)
    assert ("<think>" in prompt) == thinking
    assert ("Memory:" in prompt) == (memory and "tars" not in name)
    assert "$" not in prompt
    aim: dict[str, Any] = {"element": 3} if name.endswith("marks") else {"x": 10, "y": 20}
    call = speaker.write(t.Click(**aim), WIDE)
    if "tars" in name:
        assert call.partition("(")[0].removeprefix("Action: ") in prompt
    else:
        spelled = "<function=" if name.startswith("qwen3_5") else '{"name":'
        assert spelled in call
        assert spelled in prompt
