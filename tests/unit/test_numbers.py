"""Set-of-Marks on a picture: frames and numbers where they belong, and nothing else changed."""

import io
from typing import Literal

import pytest
from PIL import Image

from webgym import types as t
from webgym.server.display import Picture
from webgym.server.numbers import LABEL_HEIGHT, Numbered, draw_numbers

WIDTH, HEIGHT = 320, 200
GREY = (180, 180, 180)


def plain(kind: Literal["jpeg", "png"] = "png", mode: str = "RGB") -> bytes:
    written = io.BytesIO()
    Image.new(mode, (WIDTH, HEIGHT), GREY).save(written, kind)
    return written.getvalue()


def box(x: float, y: float, width: float = 60, height: float = 30) -> t.Box:
    return t.Box(x=x, y=y, width=width, height=height)


def numbered(*boxes: t.Box, kind: Literal["jpeg", "png"] = "png", mode: str = "RGB") -> Image.Image:
    image = Image.open(io.BytesIO(draw_numbers(plain(kind, mode), boxes, Picture(kind))))
    assert image.format == kind.upper()
    return image.convert("RGB")


def drawn_on(image: Image.Image) -> set[tuple[int, int]]:
    return {(x, y) for x in range(WIDTH) for y in range(HEIGHT) if image.getpixel((x, y)) != GREY}


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_frame_follows_the_box_and_its_inside_stays(mode: str):
    drawn = drawn_on(numbered(box(100, 80), mode=mode))
    assert {(100, 80), (159, 80), (100, 109), (159, 109), (101, 95), (158, 95)} <= drawn
    assert not {(102, 95), (157, 95), (130, 82), (130, 107), (99, 95), (160, 95), (130, 110)} & drawn


def test_a_number_stands_above_its_box_and_inside_where_there_is_no_room_above():
    above = drawn_on(numbered(box(100, 80)))
    assert (101, 80 - LABEL_HEIGHT) in above
    assert (101, 80 - LABEL_HEIGHT - 1) not in above
    assert (103, 5) in drawn_on(numbered(box(100, 3)))


@pytest.mark.parametrize("x", [WIDTH - 5.0, -20.0, WIDTH + 50.0])
def test_a_number_stays_on_the_picture(x: float):
    numbers = {(px, py) for px, py in drawn_on(numbered(box(x, 80))) if py < 80}
    assert len(numbers) >= LABEL_HEIGHT * 8


def test_numbers_differ_and_neighbours_have_colours_of_their_own():
    image = numbered(*(box(10 + 75 * n, 80) for n in range(4)))
    corners = {image.getpixel((10 + 75 * n, 109)) for n in range(4)}
    assert len(corners) == 4
    labels = [image.crop((10 + 75 * n, 66, 20 + 75 * n, 80)).convert("L").point(lambda v: 255 * (v > 200)) for n in range(4)]
    assert len({label.tobytes() for label in labels}) == 4


def test_a_picture_in_jpeg_keeps_what_nothing_was_drawn_on():
    image = numbered(box(100, 80), kind="jpeg")
    for x, y in ((10, 10), (300, 180), (20, 150)):
        red, green, blue = image.getpixel((x, y))  # type: ignore[misc]
        assert max(abs(red - 180), abs(green - 180), abs(blue - 180)) <= 3


def test_a_picture_has_nothing_of_the_one_before_it():
    first = draw_numbers(plain("jpeg"), [box(100, 80)], Picture("jpeg"))
    draw_numbers(plain("jpeg"), [box(20, 20), box(200, 150)], Picture("jpeg"))
    assert draw_numbers(plain("jpeg"), [box(100, 80)], Picture("jpeg")) == first
    small = Image.new("RGB", (90, 60), GREY)
    written = io.BytesIO()
    small.save(written, "jpeg")
    assert Image.open(io.BytesIO(draw_numbers(written.getvalue(), [box(5, 30)], Picture("jpeg")))).size == small.size
    assert draw_numbers(plain("jpeg"), [box(100, 80)], Picture("jpeg")) == first


def test_half_a_picture_is_an_error_and_no_picture():
    whole = plain("jpeg")
    with pytest.raises(ValueError, match="not enough image data"):
        draw_numbers(whole[: len(whole) // 2], [box(100, 80)], Picture("jpeg"))


@pytest.mark.parametrize("kind", ["jpeg", "png"])
def test_a_picture_without_boxes_stays_as_it_is(kind: Literal["jpeg", "png"]):
    assert draw_numbers(plain(kind), [], Picture(kind)) == plain(kind)


def test_the_same_picture_with_the_same_boxes_is_known_again():
    known = Numbered(b"picture", (box(1, 2),), b"drawn")
    assert known.of(b"picture", (box(1, 2),))
    assert not known.of(b"another", (box(1, 2),))
    assert not known.of(b"picture", (box(1, 3),))
    assert not known.of(b"picture", ())


def test_a_box_of_no_size_is_drawn_all_the_same():
    assert (100, 80) in drawn_on(numbered(box(100, 80, 0.2, 0)))
