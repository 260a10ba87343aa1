"""What counts as a refusal of automation, and what must not."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.offline import Address, pages
from tests.unit.judge_bench.episodes import episode, step
from webgym.judge.blocking import look_for_blocking
from webgym.refusals import SHORT, Page, find_refusal
from webgym.types import Blocked
from webgym.worlds.sites import KINDS

ARTICLE = (
    "A CAPTCHA is a test that asks visitors to prove they are human. Websites say: please verify you are human, "
    "or that unusual traffic from your computer network was seen. "
) * 30


@pytest.mark.parametrize(
    "url",
    [
        "https://www.google.com/sorry/index?continue=https://www.google.com/",
        "https://geo.captcha-delivery.com/captcha/?initialCid=AHrl",
        "https://validate.perfdrive.com/?ssa=1",
        "https://yandex.ru/showcaptcha?cc=1",
        "https://www.walmart.com/blocked?url=Lw==",
    ],
)
def test_an_address_that_only_a_challenge_has_is_enough(url: str):
    found = find_refusal(Page(url, ""))
    assert found is not None
    assert found.strength == "certain"
    assert found.reason.startswith("address ")


def test_what_anybody_can_add_to_an_address_is_no_more_than_a_sign():
    url = "https://shop.example/?__cf_chl_rt_tk=abc"
    for page, strength in ((Page(url, "Kettles", 200), "suspected"), (Page(url, "Just a moment...", 403), "certain")):
        found = find_refusal(page)
        assert found is not None
        assert found.strength == strength
    assert find_refusal(Page("https://shop.example/sorry/index", "Not found", 404)) is None


@pytest.mark.parametrize(
    "page",
    [
        Page("https://a.example/", "Just a moment...", 403),
        Page("https://a.example/", "Shop", 403, "Please verify that you are a human."),
        Page("https://a.example/", "Access Denied", None, "You don't have permission to access /x on this server."),
        Page("https://a.example/", "Access to this page has been denied.", 200, "Press & Hold to confirm you are a human"),
        Page("https://a.example/", "Nur einen Moment…", 200, "Bestätigen Sie, dass Sie ein Mensch sind."),
        Page("https://a.example/", "Un instant…", 403, "Vérifiez que vous êtes humain"),
        Page("https://a.example/", "Un momento…", 200, "Verifica que no eres un robot"),
        Page("https://a.example/", "请稍候…", 200, "请完成以下验证"),
        Page("https://a.example/", "Доступ запрещён", 403),
        Page("https://a.example/", "Ci siamo quasi", 429, "Conferma di non essere un robot"),
        Page("https://a.example/", "Attention Required! | Wall", 503),
    ],
)
def test_two_signs_of_different_kinds_are_certain_in_several_languages(page: Page):
    found = find_refusal(page)
    assert found is not None
    assert found.strength == "certain"
    assert len(found.signs) >= 2


@pytest.mark.parametrize(
    "page",
    [
        Page("https://a.example/", "Just a moment...", 200),
        Page("https://a.example/", "Robot or human?"),
        Page("https://a.example/", "a.example", 200, "Enable JavaScript and cookies to continue"),
        Page("https://a.example/", "", None, "ロボットではないことを確認してください"),
    ],
)
def test_one_sign_alone_is_only_suspected(page: Page):
    found = find_refusal(page)
    assert found is not None
    assert found.strength == "suspected"


@pytest.mark.parametrize(
    "page",
    [
        Page("https://wiki.example/CAPTCHA", "CAPTCHA - Wikipedia", 200, ARTICLE),
        Page("https://wiki.example/wiki/Robot_check", "Robot check | Wiki", 200, ARTICLE),
        Page("https://blog.example/just-a-moment", "Just a moment with our founder", 200, "She makes lamps."),
        Page("https://shop.example/contact", "Contact us", 200, "Your name. Message. [ ] I'm not a robot. Send."),
        Page("https://shop.example/join", "Sign up", 200, "This site is protected by reCAPTCHA and its terms apply."),
        Page("https://club.example/", "Members only", 403, "Log in to see this page."),
        Page("https://club.example/", "Sign in", 401, "Your password."),
        Page("https://shop.example/gone", "Access denied", 404, "The page you are looking for does not exist."),
        Page("https://shop.example/", "503", 503, "We are back in an hour."),
        Page("https://shop.example/blocked-drains", "Blocked drains and how to clear them", 200, "Use a plunger."),
        Page("https://shop.example/?q=captcha", "captcha: 3 results", 200, "Books about captchas and robots."),
        Page("https://notcaptcha-delivery.com/", "Parcels", 200, "Track a parcel."),
        Page("http://[bad", "Shop"),
    ],
)
def test_an_ordinary_page_that_mentions_such_words_is_no_refusal(page: Page):
    assert find_refusal(page) is None


def test_words_count_on_short_pages_only():
    words = "Please verify that you are a human."
    assert find_refusal(Page("https://a.example/", "", None, words)) is not None
    assert find_refusal(Page("https://a.example/", "", None, words + " " * SHORT)) is None


@given(st.text(), st.text(), st.none() | st.integers(100, 599), st.none() | st.text())
def test_no_page_however_odd_breaks_the_detector_and_certainty_takes_a_reason(
    url: str, title: str, status: int | None, text: str | None
):
    found = find_refusal(Page(url, title, status, text))
    assert found is None or found.reason


def seen_at(address: Address) -> Page:
    """A page of the offline web as an observation tells it, the whole text at once."""
    found = address.ask()
    html = found.body.decode()
    title = re.search(r"<title>(.*?)</title>", html, re.DOTALL)
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
    return Page(f"http://{address.host}{address.path}", unescape(title[1]) if title else "", found.status, unescape(text))


def test_no_ordinary_page_of_the_offline_web_raises_an_alarm_and_the_one_that_refuses_robots_does():
    found = list(pages(4 * len(KINDS), random.Random("ordinary")))
    alarms = [address for address in found if address.path != "/partners" and find_refusal(seen_at(address)) is not None]
    assert alarms == []
    for address in found[::4]:
        refused = find_refusal(seen_at(replace(address, path="/partners")))
        assert refused is not None
        assert refused.strength == "certain"


# episodes


def test_an_episode_without_a_sign_needs_no_model():
    assert look_for_blocking(episode(steps=(step(0), step(1)))).standing == "clear"


def test_an_episode_that_ends_on_a_certain_refusal_is_blocked():
    refused = step(0, title="Access denied", visible="Please verify that you are a human")
    found = look_for_blocking(episode(steps=(refused,), final_visible="Please verify that you are a human"))
    assert found.standing == "blocked"
    assert "verify that you are a human" in found.reason
    assert found.suspects[-1].step == 1


def test_a_refusal_left_behind_is_asked_about_and_not_decided():
    refused = step(0, title="Access denied", visible="Please verify that you are a human")
    found = look_for_blocking(episode(steps=(refused, step(1)), final_visible="Lamps from 20 dollars"))
    assert found.standing == "ask"
    assert [suspect.step for suspect in found.suspects] == [0]


def test_what_the_rollout_saw_stands():
    found = look_for_blocking(episode(steps=(), outcome=Blocked(reason="status 403, title says 'access denied'")))
    assert found.standing == "blocked"
    assert found.reason.startswith("status 403")
