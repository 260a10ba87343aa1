"""The soak's verdict: flat figures of a server that nobody used are no proof of anything."""

from __future__ import annotations

import pytest
from rich.console import Console

from tests.soak import Sample, report

FLAT = Sample(memory_mb=500, python_mb=100, handles=200, processes=20, zombies=0, folders=10)
GROWN = Sample(memory_mb=5000, python_mb=100, handles=200, processes=20, zombies=0, folders=10)


@pytest.mark.parametrize(
    ("samples", "done", "status"),
    [
        ([FLAT] * 40, {"steps": 800, "episodes": 160, "Overloaded": 3}, 0),
        ([FLAT] * 20 + [GROWN] * 20, {"steps": 800, "episodes": 160}, 1),
        ([FLAT] * 40, {"steps": 0, "episodes": 0}, 1),
        ([FLAT] * 40, {"steps": 0, "episodes": 0, "Unreachable": 5000}, 1),
        ([FLAT] * 40, {"steps": 800, "episodes": 160, "BrowserGone": 90}, 1),
    ],
)
def test_a_soak_passes_only_if_nothing_grew_under_a_load_that_was_one(samples, done, status):
    assert report(samples, done, Console(quiet=True), least=100) == status
