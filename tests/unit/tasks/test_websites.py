"""Canonical origins, sites, and the marks of dates and languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webgym.tasks.dates import is_date_bound
from webgym.tasks.language import language
from webgym.tasks.websites import canonical_origin, origins_of, site


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("example.com", "https://example.com"),
        (" HTTPS://WWW.Example.COM/Path?q=1#f ", "https://www.example.com"),
        ("http://example.com:80/", "http://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("https://example.com:8443/x", "https://example.com:8443"),
        ("example.com:8080/x", "https://example.com:8080"),
        ("//cdn.example.com/x", "https://cdn.example.com"),
        ("example.com.", "https://example.com"),
        ("https://user:secret@example.com/", "https://example.com"),
        ("https://bücher.example/", "https://xn--bcher-kva.example"),
        ("BÜCHER.example", "https://xn--bcher-kva.example"),
        ("https://faß.example", "https://xn--fa-hia.example"),
        ("my_shop.example.com", "https://my_shop.example.com"),
        ("localhost:8000", "http://localhost:8000"),
        ("shop.localhost", "http://shop.localhost"),
        ("127.0.0.1:9", "http://127.0.0.1:9"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("", ""),
        ("google", ""),
        ("not a site", ""),
        ("one.example and two.example", ""),
        ("mailto:me@example.com", ""),
        ("me@example.com", ""),
        ("ftp://example.com", ""),
        ("javascript:alert(1)", ""),
        ("https://", ""),
        ("https://example.com:99999", ""),
        ("https://-bad.example", ""),
        ("https://[::1", ""),
        ("1.2.3", ""),
        ("999.1.1.1", ""),
        ("a..b", ""),
    ],
)
def test_a_website_becomes_its_origin(text: str, origin: str) -> None:
    assert canonical_origin(text) == origin


@given(st.text(max_size=40))
def test_any_text_is_an_origin_or_nothing(text: str) -> None:
    origin = canonical_origin(text)
    assert origin == "" or canonical_origin(origin) == origin


def test_scheme_and_www_make_no_other_site() -> None:
    origins = ("https://example.com", "http://example.com", "https://www.example.com", "http://www.example.com")
    assert {site(origin) for origin in origins} == {"example.com"}
    assert set(origins_of("www.example.com")) == set(origins)
    assert site("https://maps.example.com") == "maps.example.com"
    assert site("https://www.com") == "www.com"
    assert site("") == ""


@pytest.mark.parametrize(
    "text",
    [
        "Book a table for March 18, 5pm",
        "from Jan 3rd to Jan 9th",
        "a flight on 12 May 2025",
        "events between 06-01-2025 and 06-15-2025",
        "check in 2026-01-31",
        "the weather of December 2024",
        "on the 4th of July",
    ],
)
def test_calendar_dates_are_noticed(text: str) -> None:
    assert is_date_bound(text)


@pytest.mark.parametrize(
    "text",
    [
        "Find the score of the 2020 final",
        "What happened on July 4, 1776?",
        "You may 3 times retry",
        "tomorrow or next week",
        "iPhone 15 with 256 GB, version 1.2.3",
        "the top 10 teams of March",
        "",
    ],
)
def test_what_renews_itself_or_is_history_is_no_date(text: str) -> None:
    assert not is_date_bound(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Find the price of a ticket for the Louvre in Paris", "en"),
        ("Show all customers", "en"),
        ("Encuentra los horarios de apertura de la tienda en Madrid", "es"),
        ("Trouvez le prix du billet pour le musée", "fr"),
        ("Finde die Öffnungszeiten für das Museum", "de"),
        ("検索してください", "ja"),
        ("查找价格", "zh"),
        ("Найдите цену билета в музей", "ru"),
        ("Canyon de Chelly", "und"),
        ("x^2 + 3x + 2 = 0", "und"),
    ],
)
def test_the_language_is_told_by_script_and_common_words(text: str, code: str) -> None:
    assert language(text) == code
