from __future__ import annotations

from pathlib import Path

import pytest

from webgym.refusals import site_of
from webgym.rollout.blocking import BlockList, looks_blocked
from webgym.tasks.websites import canonical_origin, site
from webgym.types import Observation, ScrollPosition, Settled


def page(status: int | None, title: str) -> Observation:
    return Observation(
        screenshot=None, unchanged=False, url="http://x", title=title, status=status,
        scroll=ScrollPosition(x=0, y=0, width=1, height=1), tabs=(), settled=Settled(ms=0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "title"),
    [(403, "Just a moment..."), (503, "Attention Required! | Wall"), (429, "Too Many Requests"), (403, "Access Denied")],
)
def test_a_refusing_status_with_a_challenge_is_a_block(status: int, title: str):
    assert looks_blocked(page(status, title)) is not None


@pytest.mark.parametrize(
    ("status", "title"),
    [(200, "Just a moment..."), (403, "Members only"), (404, "Access Denied"), (None, "Captcha"), (503, "")],
)
def test_neither_alone_is(status: int | None, title: str):
    assert looks_blocked(page(status, title)) is None


def test_a_refusal_counts_for_its_hours_and_for_the_next_process(tmp_path: Path):
    now = [1_000.0]
    path = tmp_path / "runs" / "blocked.jsonl"
    BlockList(path, hours=12, clock=lambda: now[0]).add("https://www.example.com/shop", "status 403")
    again = BlockList(path, hours=12, clock=lambda: now[0])
    assert "http://example.com" in again
    assert "http://example.org" not in again
    assert again.current() == ("example.com",)
    now[0] += 12 * 3600
    assert "http://example.com" not in again
    assert again.current() == ()


def test_the_hours_of_a_refusal_count_from_when_it_happened(tmp_path: Path):
    path, now = tmp_path / "blocked.jsonl", 1_000_000.0
    blocked = BlockList(path, hours=12, clock=lambda: now)
    blocked.add("http://lately.example", "why", at=now - 11 * 3600)
    blocked.add("http://long-ago.example", "why", at=now - 12 * 3600)
    blocked.add("http://both.example", "why")
    blocked.add("http://both.example", "why", at=now - 12 * 3600)
    assert blocked.current() == ("both.example", "lately.example")
    assert BlockList(path, hours=12, clock=lambda: now).current() == ("both.example", "lately.example")


def test_a_torn_line_is_passed_over_and_does_not_swallow_the_next(tmp_path: Path):
    path = tmp_path / "blocked.jsonl"
    path.write_bytes(b'{"website": "a.com", "rea')
    BlockList(path).add("http://b.com", "why")
    assert BlockList(path).current() == ("b.com",)


@pytest.mark.parametrize(
    "website",
    ["https://www.example.com", "http://example.com:8090", "https://example.com:443", "http://www.dev", "http://[::1]:8000"],
)
def test_a_website_is_the_same_to_the_list_and_to_the_sampler(website: str, tmp_path: Path):
    assert site_of(website) == site(canonical_origin(website))
    BlockList(tmp_path / "blocked.jsonl").add(website, "why")
    assert BlockList(tmp_path / "blocked.jsonl").current() == (site_of(website),)


def test_another_port_is_another_website(tmp_path: Path):
    blocked = BlockList(tmp_path / "blocked.jsonl")
    blocked.add("http://shop.localhost:8090", "why")
    assert "http://shop.localhost:8090/cart" in blocked
    assert "http://shop.localhost:8091" not in blocked


def test_no_website_is_never_listed(tmp_path: Path):
    path = tmp_path / "blocked.jsonl"
    path.write_text('{"website": "", "reason": "of old", "at": 1e12}\n')
    blocked = BlockList(path)
    blocked.add("", "why")
    assert "" not in blocked
    assert blocked.current() == ()
    assert len(path.read_text().splitlines()) == 1
