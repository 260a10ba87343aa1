"""Arrays laid out by hand are those that pyarrow makes of the same values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from webgym.store.arrays import Flag, Layout, Real, Record, Row, Text, Whole

ROOT = Path(__file__).parents[3]
TEXT, WHOLE, REAL = Text(), Whole(), Real()
POINT = Record(name=TEXT, places=Row(WHOLE))
VALUES: list[tuple[Layout, list[Any]]] = [
    (TEXT, []),
    (TEXT, ["a", "", "bücher 本 🎈", "\x00"]),
    (TEXT, [None, "b", None]),
    (TEXT, [None]),
    (WHOLE, [0, -1, 2**63 - 1, -(2**63)]),
    (WHOLE, [None, 7]),
    (REAL, [0.5, 3, -1e300, None]),
    (Flag(), [True, False, True, True, False, False, False, False, True]),
    (Flag(), [None, True, False]),
    (Row(WHOLE), [(1, 2), (), None, (3,)]),
    (Row(Row(TEXT)), [[["a"], []], [], None, [["b", None]]]),
    (Row(TEXT), []),
    (POINT, [{"name": "here", "places": (1, 2)}, None, {"name": None, "places": None}, {"name": "there", "places": ()}]),
    (Row(POINT), [[{"name": "here", "places": (1,)}], None, [{"name": "a", "places": ()}, {"name": "b", "places": (2, 3)}]]),
]


def as_objects(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**value)
    return [as_objects(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("layout", "values"), VALUES)
def test_an_array_is_the_one_that_pyarrow_makes(layout: Layout, values: list[Any]):
    made = layout.array([as_objects(value) for value in values])
    made.validate(full=True)
    assert made.equals(pa.array(values, layout.kind))
    assert made.null_count == sum(value is None for value in values)


def test_an_attribute_that_an_object_does_not_have_is_null():
    assert POINT.array([SimpleNamespace(name="here")]).to_pylist() == [{"name": "here", "places": None}]


def test_many_nulls_are_where_they_were():
    values = [None if number % 3 else str(number) for number in range(1000)]
    assert TEXT.array(values).to_pylist() == values


@pytest.mark.parametrize(("layout", "value"), [(TEXT, "\ud800"), (WHOLE, 2**63), (WHOLE, 0.5), (WHOLE, "1"), (TEXT, 1)])
def test_what_has_no_place_in_a_column_is_an_error(layout: Layout, value: object):
    with pytest.raises((UnicodeEncodeError, OverflowError, TypeError, AttributeError)):
        layout.array([value])


def test_keeping_an_episode_and_reading_it_does_not_load_pandas(tmp_path: Path):
    program = f"""
import sys
from tests.unit.store.making import make_episode, make_task
from webgym.store import Run
with Run.create({str(tmp_path / "run")!r}) as run:
    run.plan(0, [make_task(0).id])
    episode = make_episode(run, 0)
    assert run.commit(episode) and run.episode(episode.id) == episode
print("pandas" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout == "False\n"
