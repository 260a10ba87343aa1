"""Which screenshots a judge is shown: each once, the last always."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image as Pillow
from PIL import ImageDraw

from tests.unit.judge.judged import Album, make_episode
from webgym.errors import Damaged, StoreError
from webgym.judge.evidence import Shot, enlarged, gather
from webgym.judge.settings import EvidenceSettings

SIZE = (1280, 800)


def page(price: str = "12.00", *, quality: int = 80, form: str = "JPEG") -> bytes:
    """A page of a shop, with a price in small print."""
    image = Pillow.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 1280, 60), fill="navy")
    for row in range(12):
        draw.text((60, 100 + 50 * row), f"Lamp number {row} in many colours", fill="black")
    draw.text((700, 400), price, fill="black", font_size=15)
    out = io.BytesIO()
    image.save(out, form, quality=quality)
    return out.getvalue()


def shots_of(pictures: list[bytes], album: Album | None = None, **settings: int) -> tuple[Shot, ...]:
    album = album or Album()
    return gather(make_episode(album.put, pictures), album.read, EvidenceSettings(**settings))  # type: ignore[arg-type]


def test_equal_screenshots_are_one_and_keep_the_times_they_were_seen():
    one, two = page("1"), page("2")
    shots = shots_of([one, one, two, one, two])
    assert [(shot.number, shot.seen_at) for shot in shots] == [(1, (0, 1, 3)), (2, (2, 4))]


def test_what_no_eye_tells_apart_is_one():
    shots = shots_of([page(), page(quality=70), page(quality=95), page(form="PNG"), page("99.99")])
    assert [shot.seen_at for shot in shots] == [(0, 1, 2, 3), (4,)]


@pytest.mark.parametrize(("before", "after"), [("12.00", "19.00"), ("12.00", "12.50"), ("5", "6"), ("0", "8"), ("1.", "1,")])
def test_a_changed_price_is_another_page(before: str, after: str):
    assert len(shots_of([page(before), page(after)])) == 2


def test_without_tolerance_only_equal_bytes_are_one():
    assert len(shots_of([page(), page(quality=95)], tolerance=0)) == 2


def test_pages_of_different_sizes_are_different():
    small = io.BytesIO()
    Pillow.open(io.BytesIO(page())).resize((640, 400)).save(small, "JPEG")
    assert len(shots_of([page(), small.getvalue()])) == 2


def test_the_very_last_screenshot_stands_for_those_that_look_like_it():
    album, last = Album(), page(quality=90)
    shots = shots_of([page(), page("5"), page("6"), last], album)
    assert [shot.seen_at for shot in shots] == [(1,), (2,), (0, 3)]
    assert album.kept[shots[-1].sha256] == last


def test_an_episode_without_a_final_screenshot_ends_with_its_last_one():
    album = Album()
    episode = make_episode(album.put, [page("1"), page("2"), page("3")]).model_copy(update={"final_screenshot": None})
    assert gather(episode, album.read, EvidenceSettings())[-1].sha256 == episode.steps[-1].screenshot


def test_no_screenshot_is_no_evidence():
    episode = make_episode(Album().put, [page()]).model_copy(update={"final_screenshot": None})
    assert gather(episode, Album().read, EvidenceSettings()) == ()


def test_small_versions_are_small_and_large_ones_are_untouched():
    album = Album()
    (shot,) = shots_of([page()], album, look_width=320)
    with Pillow.open(io.BytesIO(shot.small.data)) as small:
        assert small.size == (320, 200)
    assert enlarged(shot, album.read, None).data == page()
    with Pillow.open(io.BytesIO(enlarged(shot, album.read, 640).data)) as large:
        assert large.size == (640, 400)


def test_a_lossless_screenshot_keeps_its_format():
    album = Album()
    (shot,) = shots_of([page(form="PNG")], album)
    assert enlarged(shot, album.read, None).format == "png"


@pytest.mark.parametrize("spoilt", [b"", b"\xff\xd8\xff\xe0", page()[:2000], b"GIF89a" + bytes(50), b"<svg/>"])
def test_what_is_no_picture_has_a_name(spoilt: bytes):
    with pytest.raises(Damaged):
        shots_of([page(), spoilt])


def test_a_picture_of_a_billion_pixels_is_not_decoded():
    bomb = io.BytesIO()
    Pillow.new("1", (9000, 9000)).save(bomb, "PNG")
    with pytest.raises(Damaged, match="pixels"):
        shots_of([bomb.getvalue()])


def test_a_picture_that_is_gone_has_a_name(tmp_path: Path):
    episode = make_episode(Album().put, [page()])
    with pytest.raises(StoreError):
        gather(episode, Album().read, EvidenceSettings())
