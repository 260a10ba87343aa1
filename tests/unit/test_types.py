"""The shared words: what is impossible does not validate, and everything survives the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from webgym import types as t

ACTION: TypeAdapter[t.Action] = TypeAdapter(t.Action)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "click"},
        {"kind": "click", "x": 1},
        {"kind": "click", "x": 1, "y": 2, "element": 3},
        {"kind": "click", "x": -1, "y": 2},
        {"kind": "click", "x": "NaN", "y": 2},
        {"kind": "click", "x": 1e9, "y": 2},
        {"kind": "click", "element": 0},
        {"kind": "click", "x": 1, "y": 2, "count": 4},
        {"kind": "click", "x": 1, "y": 2, "button": "fourth"},
        {"kind": "click", "x": 1, "y": 2, "modifiers": ["Hyper"]},
        {"kind": "click", "x": 1, "y": 2, "speed": 3},
        {"kind": "drag", "x": 1, "y": 2},
        {"kind": "type", "text": "x" * 20_001},
        {"kind": "type", "text": "x", "x": 1},
        {"kind": "key", "keys": []},
        {"kind": "key", "keys": [""]},
        {"kind": "key", "keys": ["a"] * 65},
        {"kind": "scroll", "dy": 1e6},
        {"kind": "scroll", "dy": float("inf")},
        {"kind": "select", "options": ["a"]},
        {"kind": "navigate", "url": ""},
        {"kind": "wait", "seconds": 31},
        {"kind": "wait", "seconds": -1},
        {"kind": "upload", "x": 1, "y": 2, "files": []},
        {"kind": "upload", "x": 1, "y": 2, "files": ["../secret"]},
        {"kind": "upload", "x": 1, "y": 2, "files": ["a\\b"]},
        {"kind": "upload", "x": 1, "y": 2, "files": ["a\x00"]},
        {"kind": "terminate", "status": "perhaps"},
        {"kind": "teleport"},
        {},
    ],
)
def test_an_impossible_action_is_refused(fields):
    with pytest.raises(ValidationError):
        ACTION.validate_python(fields)


@pytest.mark.parametrize(
    "action",
    [
        t.Click(x=1, y=2.5, button="right", count=2, modifiers=("Shift",)),
        t.Hover(element=7),
        t.Drag(element=7, to_x=0, to_y=16384),
        t.Type(text="é\n🙂", clear=True, enter=True),
        t.Key(keys=("Control+A",)),
        t.Scroll(dx=-1, dy=0.5),
        t.Select(element=1, options=()),
        t.Navigate(url="example.com"),
        t.Back(),
        t.Wait(),
        t.NewTab(),
        t.SwitchTab(tab=3),
        t.CloseTab(),
        t.Upload(x=0, y=0, files=("a b.txt",)),
        t.Answer(text=""),
        t.Terminate(status="success"),
    ],
    ids=lambda action: action.kind,
)
def test_an_action_survives_the_wire(action):
    assert ACTION.validate_json(ACTION.dump_json(action)) == action


@given(x=st.floats(0, 16384), y=st.floats(0, 16384))
def test_every_pixel_of_the_largest_screen_can_be_aimed_at(x, y):
    aimed = t.Click(x=x, y=y)
    assert aimed.has_aim
    assert (aimed.x, aimed.y) == (x, y)


def test_typing_and_scrolling_need_no_aim():
    assert not t.Type(text="x").has_aim
    assert not t.Scroll(dy=1).has_aim
    assert t.Type(text="x", element=1).has_aim


@given(st.binary(max_size=500))
def test_pictures_survive_the_wire_as_base64(data):
    shot = t.Screenshot(format="png", width=1, height=1, sha256="0", data=data)
    assert t.Screenshot.model_validate_json(shot.model_dump_json()) == shot


def test_a_picture_is_not_printed():
    assert "data" not in repr(t.Screenshot(format="png", width=1, height=1, sha256="0", data=b"secret"))


def test_records_cannot_be_changed():
    with pytest.raises(ValidationError):
        t.Click(x=1, y=2).x = 3  # type: ignore[misc]


@pytest.mark.parametrize("fields", [{"quality": 0}, {"quality": 101}, {"image": "gif"}, {"marks": "perhaps"}, {"extra": 1}])
def test_an_impossible_look_is_refused(fields):
    with pytest.raises(ValidationError):
        t.Look(**fields)
