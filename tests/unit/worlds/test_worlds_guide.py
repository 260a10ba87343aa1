"""The example of the guide is a whole kind: its pages render and its tasks can be made."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from webgym.worlds import render
from webgym.worlds.blocks import Page
from webgym.worlds.chance import draw
from webgym.worlds.kind import Site, Visit
from webgym.worlds.making import Maker
from webgym.worlds.state import Memory

GUIDE = Path(__file__).parents[3] / "docs" / "worlds.md"


@pytest.fixture(scope="module")
def example():
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    module = ModuleType("guide_example")
    sys.modules[module.__name__] = module  # where dataclasses look up their module
    exec(code, module.__dict__)
    yield module
    del sys.modules[module.__name__]


SITE = Site(0, "oldharbor-lights.localhost", "lighthouses", "Oldharbor Lights")


def test_its_pages_render(example: ModuleType):
    content = example.kind.content(SITE)
    for path in ("/", "/lights", "/visit", content.lights[0].href):
        visit = Visit(SITE, content, path, {}, None, Memory())
        page = example.kind.answer(visit)
        assert isinstance(page, Page)
        assert b"Oldharbor Lights" in render.html(example.kind, visit, page)
    assert example.kind.answer(Visit(SITE, content, "/light/none", {}, None, Memory())) is None


def test_its_tasks_have_the_shape_that_was_asked_for(example: ModuleType):
    for name, shape in (("lookup", (2, 1)), ("book", (2,))):
        generator = example.kind.generators[name]
        assert generator.can(shape)
        draft = generator.make(Maker(SITE, example.kind.content(SITE), draw(name), shape))
        assert tuple(len(group.facts) for group in draft.groups) == shape


def test_a_booking_is_recorded(example: ModuleType):
    posted = {"_form": "visit", "name": "Ada Vega", "day": "2026-07-03"}
    visit = Visit(SITE, example.kind.content(SITE), "/visit", {}, posted, Memory())
    example.kind.answer(visit)
    assert visit.memory.records[0].fields == {"name": "Ada Vega", "day": "2026-07-03"}
