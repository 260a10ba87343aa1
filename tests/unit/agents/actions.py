"""Actions of every kind, as hypothesis makes them, and what it means for two of them to be the same on a grid."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from webgym import types as t
from webgym.agents.dialects import Screen

SCREENS = [Screen(1280, 768), Screen(390, 844), Screen(224, 160)]
MARKS = frozenset(range(1, 40))

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["</tool_call>", "<tool_call>", "</think>", "a\n</parameter>\n", "'; \\' \\n", '"}}', "\n\n", "Action: wait()", "東京"]
)
combinations = st.sampled_from(["Enter", "Control+a", "Control+Shift+T", "Control++", "+", "a", " ", "Page_Down"])


def points(screen: Screen) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"x": st.integers(0, screen.width - 1), "y": st.integers(0, screen.height - 1)})


def aims(screen: Screen) -> st.SearchStrategy[dict[str, Any]]:
    return points(screen) | st.sampled_from(sorted(MARKS)).map(lambda element: {"element": element})


def actions(screen: Screen) -> st.SearchStrategy[t.Action]:
    """Any action that could be performed on this screen."""
    aimed, anywhere = aims(screen), aims(screen) | st.just({})
    distance = st.sampled_from([0, 100, -100, 500, -500, 300, 0.8 * screen.height, -0.8 * screen.height, 50, -120])

    def made(kind: type[t.Wire], where: st.SearchStrategy[dict[str, Any]], **more: st.SearchStrategy[Any]) -> Any:
        return st.tuples(where, st.fixed_dictionaries(more)).map(lambda both: kind(**both[0], **both[1]))

    nothing = st.just({})
    held = st.lists(st.sampled_from(["Alt", "Control", "Meta", "Shift"]), unique=True, max_size=2)
    return st.one_of(
        made(t.Click, aimed, button=st.sampled_from(["left", "right", "middle"]), count=st.integers(1, 3), modifiers=held),
        made(t.Click, aimed),
        made(t.Hover, aimed),
        made(t.Drag, aimed, to_x=st.integers(0, screen.width - 1), to_y=st.integers(0, screen.height - 1)),
        made(t.Type, anywhere, text=words, clear=st.booleans(), enter=st.booleans()),
        made(t.Type, nothing, text=words),
        made(t.Key, nothing, keys=st.lists(combinations, min_size=1, max_size=2)),
        made(t.Scroll, anywhere, dx=distance),
        made(t.Scroll, anywhere, dy=distance),
        made(t.Scroll, anywhere, dx=distance, dy=distance),
        made(t.Select, aimed, options=st.lists(words, max_size=2)),
        made(
            t.Navigate,
            nothing,
            url=st.sampled_from(["https://example.com/a?b=<c>", "about:blank", "http://x.localhost:80/"]),
        ),
        made(t.Wait, nothing, seconds=st.sampled_from([0, 1, 2, 5, 2.5, 30])),
        made(t.Answer, nothing, text=words),
        made(t.Terminate, nothing, status=st.sampled_from(["success", "failure"])),
        st.sampled_from([t.Back(), t.Forward(), t.Reload(), t.NewTab(), t.SwitchTab(tab=1), t.CloseTab()]),
        made(t.Upload, aimed, files=st.just(("a.txt",))),
    )


def assert_same(said: t.Action, read: t.Action, screen: Screen, units: tuple[int, int]) -> None:
    """Equal, but for what the grid cannot tell apart: half a grid unit, and one pixel at the clamped far edge."""
    assert type(said) is type(read)
    near = {"x": screen.width / units[0], "y": screen.height / units[1]}
    near |= {"to_x": near["x"], "to_y": near["y"], "dx": near["x"], "dy": near["y"]}
    for name, value in said:
        found = getattr(read, name)
        if name in near and isinstance(value, float) and isinstance(found, float):
            assert abs(value - found) <= near[name] / 2 + 1e-9, (name, said, read)
        else:
            assert value == found, (name, said, read)
