"""The split never shares a site, meets its quota, and is the same every time."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webgym.errors import ConfigError, LeakageError
from webgym.tasks.split import BANDS, Entry, Quota, SplitSettings, check, split
from webgym.tasks.websites import site
from webgym.types import DifficultyBand, Split

ENTRIES = st.lists(
    st.builds(
        Entry,
        id=st.uuids().map(str),
        website=st.sampled_from(["", *(f"https://{www}site{n}.com" for n in range(12) for www in ("", "www."))]),
        band=st.sampled_from(BANDS),
        evaluation_only=st.booleans(),
        source=st.sampled_from(["a", "b"]),
    ),
    max_size=60,
    unique_by=lambda entry: entry.id,
)


def with_children(entries: list[Entry]) -> list[Entry]:
    born = [Entry(f"{e.id}~1", e.website, "easy", e.id, e.evaluation_only, e.source) for e in entries[::3]]
    return entries + born


def sides(entries: list[Entry], placed: list[str]) -> list[tuple[Entry, Split]]:
    return [(e, p) for e, p in zip(entries, placed, strict=True) if p != "dropped"]  # type: ignore[misc]


def on(number: int, band: DifficultyBand = "easy", **more: object) -> Entry:
    return Entry(f"t{number}-{band}", f"https://site{number}.com", band, **more)  # type: ignore[arg-type]


def test_the_default_quota_is_the_papers_and_scales() -> None:
    assert Quota().of(1167) == {"easy": 832, "medium": 251, "hard": 84}
    assert Quota().of(100) == {"easy": 71, "medium": 22, "hard": 7}
    assert sum(Quota().of(7).values()) == 7
    assert Quota(easy=0, medium=0, hard=5).of(3) == {"easy": 0, "medium": 0, "hard": 3}


@given(ENTRIES, st.integers(0, 6), st.integers(0, 99), st.sampled_from(["drop", "test"]), st.sampled_from([(), ("a",)]))
@settings(max_examples=150, deadline=None)
def test_no_split_leaks(entries: list[Entry], test: int, seed: int, siblings: str, force: tuple[str, ...]) -> None:
    entries = with_children(entries)
    wanted = SplitSettings(test=test, seed=seed, head=6, siblings=siblings, force=force)  # type: ignore[arg-type]
    try:
        placed = split(entries, wanted)
    except ConfigError:
        return
    check(sides(entries, placed), wanted)
    chosen = [e for e, p in zip(entries, placed, strict=True) if p == "test"]
    places = Counter(site(e.website) for e in chosen)
    assert len(places) == test
    if siblings == "drop":
        assert len(chosen) == test
        assert Counter(e.band for e in chosen) == Counter({b: n for b, n in Quota().of(test).items() if n})
    size = Counter(site(e.website) for e in entries)
    assert all(size[place] <= 6 for place in places)
    for entry, place in zip(entries, placed, strict=True):
        if place == "train" and entry.evaluation_only:
            assert entry.source in force
    assert split(entries, wanted) == placed


def test_the_order_of_tasks_does_not_decide_who_is_chosen() -> None:
    entries = [on(n, band) for n in range(40) for band in BANDS]
    wanted = SplitSettings(test=20)
    chosen = {e.id for e, p in zip(entries, split(entries, wanted), strict=True) if p == "test"}
    turned = entries[::-1]
    assert {e.id for e, p in zip(turned, split(turned, wanted), strict=True) if p == "test"} == chosen
    other = SplitSettings(test=20, seed=1)
    assert {e.id for e, p in zip(entries, split(entries, other), strict=True) if p == "test"} != chosen


@pytest.mark.parametrize("seed", range(8))
def test_sites_that_serve_several_bands_are_moved_until_the_quota_is_met(seed: int) -> None:
    """Exactly one assignment exists: only site 0 is easy alone, only site 2 hard alone, site 1 can be any of the three."""
    entries = [on(0, "easy"), *(on(1, band) for band in BANDS), on(2, "hard"), on(2, "medium")]
    wanted = SplitSettings(test=3, quota=Quota(easy=1, medium=1, hard=1), seed=seed)
    chosen = [e for e, p in zip(entries, split(entries, wanted), strict=True) if p == "test"]
    assert Counter(e.band for e in chosen) == {"easy": 1, "medium": 1, "hard": 1}


def test_a_quota_that_cannot_be_met_says_what_is_lacking() -> None:
    with pytest.raises(ConfigError, match="2 more hard"):
        split([on(n) for n in range(100)], SplitSettings(test=20, quota=Quota(easy=9, medium=0, hard=1)))


def test_head_sites_stay_in_train() -> None:
    head = [Entry(f"h{n}", "https://www.big.com", "hard") for n in range(60)]
    small = [on(n) for n in range(5)]
    placed = split(head + small, SplitSettings(test=2, quota=Quota(easy=1, medium=0, hard=0)))
    assert set(placed[:60]) == {"train"}


@pytest.mark.parametrize(
    ("leak", "said"),
    [
        ([(on(1), "train"), (Entry("x", "http://www.site1.com", "easy"), "test")], "site1.com is in train and test"),
        ([(on(1), "test"), (on(1, "hard"), "test")], "has 2 test tasks"),
        ([(on(1), "test"), (Entry("c", "https://else.com", "easy", "t1-easy"), "train")], "family of task t1-easy"),
        ([(on(1, evaluation_only=True), "train")], "evaluation-only"),
        ([(Entry("x", "", "easy"), "test")], "names no website"),
    ],
)
def test_every_kind_of_leak_is_found(leak: list[tuple[Entry, Split]], said: str) -> None:
    with pytest.raises(LeakageError, match=said):
        check(leak, SplitSettings())


def test_a_twin_is_set_free_by_forcing_everybody_who_holds_it() -> None:
    entry = on(1, evaluation_only=True, source="a", held_by=("b", "c"))
    for force, place in (((), "dropped"), (("a",), "dropped"), (("b",), "dropped"), (("b", "c"), "train")):
        wanted = SplitSettings(test=0, force=force)
        assert split([entry], wanted) == [place]
        if place == "dropped":
            with pytest.raises(LeakageError):
                check([(entry, "train")], wanted)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("online-mind2web", "Online-Mind2Web"),
        ("Online-Mind2Web", "Online-Mind2Web"),
        ("offline-web", "worlds"),
        ("worlds",) * 2,
    ],
)
def test_a_source_is_forced_by_any_of_its_names(name: str, source: str) -> None:
    entry, wanted = on(1, evaluation_only=True, source=source), SplitSettings(test=0, force=(name,))
    assert split([entry], wanted) == ["train"]
    check([(entry, "train")], wanted)
    wanted.check_force([source])


def test_a_forced_name_that_no_source_has_is_refused() -> None:
    with pytest.raises(ConfigError, match="online-mind2wep"):
        SplitSettings(force=("online-mind2wep",)).check_force(["Online-Mind2Web", "worlds"])
