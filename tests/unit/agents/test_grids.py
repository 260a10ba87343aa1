"""Grids: resizing as the processors do it, and no pixel off the screen whatever the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webgym.agents.dialects.dialect import Screen, Unreadable
from webgym.agents.dialects.grids import Grid, Pixels, Relative, Resized, to_grid, to_pixel

screens = st.builds(Screen, st.integers(50, 4000), st.integers(50, 4000))
grids = st.sampled_from([Relative(), Relative(largest=999), Pixels(), Resized(), Resized(28, 200_704, 1_003_520)])


@pytest.mark.parametrize(
    ("screen", "resized"),
    [
        (Screen(1280, 768), (1288, 756)),
        (Screen(390, 844), (392, 840)),
        (Screen(224, 160), (224, 168)),
        (Screen(28, 28), (56, 56)),  # enlarged to min_pixels
        (Screen(8000, 4000), (5068, 2520)),  # shrunk to max_pixels
    ],
)
def test_the_resized_image_has_the_size_its_processor_makes(screen: Screen, resized: tuple[int, int]) -> None:
    assert Resized().extent(screen) == resized


@given(screens)
def test_a_resized_image_keeps_to_its_area_and_its_factor(screen: Screen) -> None:
    grid = Resized(28, 200_704, 1_003_520)
    wide, high = grid.extent(screen)
    assert wide % 28 == high % 28 == 0
    if max(screen.width, screen.height) < 20 * min(screen.width, screen.height):
        assert 200_704 <= wide * high <= 1_003_520


@given(screens, grids, st.floats(0, 1), st.floats(0, 1))
def test_a_pixel_said_on_a_grid_is_the_nearest_that_the_grid_has(
    screen: Screen, grid: Grid, across: float, down: float
) -> None:
    x, y = int(across * (screen.width - 1)), int(down * (screen.height - 1))
    wide, high = grid.extent(screen)
    back_x, back_y = to_pixel(grid, *to_grid(grid, x, y, screen), screen)
    assert abs(back_x - x) <= screen.width / wide / 2 + 1e-6 or x >= screen.width * (1 - 1 / wide)
    assert abs(back_y - y) <= screen.height / high / 2 + 1e-6 or y >= screen.height * (1 - 1 / high)
    assert 0 <= back_x <= screen.width - 1
    assert 0 <= back_y <= screen.height - 1


fractions = st.sampled_from([0.0, 0.5, 1.0]) | st.floats()


@given(screens, grids, fractions, fractions)
def test_whatever_is_said_is_on_the_screen_or_refused(screen: Screen, grid: Grid, across: float, down: float) -> None:
    last_x, last_y = grid.last(screen)
    x, y = across * last_x, down * last_y
    if 0 <= x <= last_x and 0 <= y <= last_y:
        found_x, found_y = to_pixel(grid, x, y, screen)
        assert 0 <= found_x <= screen.width - 1
        assert 0 <= found_y <= screen.height - 1
    else:
        with pytest.raises(Unreadable):
            to_pixel(grid, x, y, screen)
