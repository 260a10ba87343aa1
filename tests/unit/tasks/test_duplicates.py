"""Duplicates and filters: what goes, what stays, and in which order."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from pydantic import ValidationError

from webgym.tasks.duplicates import Deduplicator
from webgym.tasks.filters import SeedRules, screen
from webgym.tasks.seed import Seed

LONG = (
    "Search for a quiet family hotel close to the old harbour, compare the three cheapest rooms that include breakfast and"
    " parking, and report the name, the rating and the cancellation policy of each of them to me"
)


def seed(instruction: str, website: str = "https://a.example", **more: object) -> Seed:
    return Seed.model_validate(
        {"id": f"{random.random()}", "source": "s", "instruction": instruction, "website": website, **more}
    )


def kept(*seeds: Seed, threshold: float = 0.9) -> tuple[list[str], Deduplicator]:
    filter_ = Deduplicator(threshold)
    return [one.instruction for one in filter_.unique(seeds)], filter_


def test_the_first_of_exact_duplicates_stays_whatever_case_and_punctuation() -> None:
    found, filter_ = kept(seed("Find the price!"), seed("find THE price"), seed("Find the date"))
    assert found == ["Find the price!", "Find the date"]
    assert (filter_.counts.exact, filter_.counts.near, filter_.counts.kept) == (1, 0, 2)


def test_the_same_words_on_another_site_are_another_task() -> None:
    found, _ = kept(seed(LONG), seed(LONG, "https://b.example"), seed(LONG, "http://www.a.example"))
    assert len(found) == 2


def test_near_duplicates_go() -> None:
    found, filter_ = kept(seed(LONG), seed(LONG.replace("quiet", "calm")), seed("Find something else entirely"))
    assert found == [LONG, "Find something else entirely"]
    assert filter_.counts.near == 1


def test_other_figures_make_another_task() -> None:
    found, _ = kept(seed(f"{LONG} for 2 guests"), seed(f"{LONG} for 3 guests"))
    assert len(found) == 2


def test_the_same_id_goes() -> None:
    found, filter_ = kept(seed("Find one", id="x"), seed("Look for another", id="x"))
    assert found == ["Find one"]
    assert filter_.counts.same_id == 1


def test_a_threshold_of_one_removes_exact_duplicates_only() -> None:
    found, _ = kept(seed(LONG), seed(LONG.replace("quiet", "calm")), seed(LONG.upper()), threshold=1)
    assert len(found) == 2
    with pytest.raises(ValueError, match="threshold"):
        Deduplicator(0.2)


def test_minhash_misses_nothing_that_a_full_comparison_finds() -> None:
    draw = random.Random(5)
    words = ["".join(letters) for letters in product("abcdefg", repeat=3)]
    seeds = []
    for n in range(300):
        base = draw.choices(words, k=30)
        seeds.append(seed(" ".join(base), id=f"{n}"))
        base[draw.randrange(30)] = "other"
        seeds.append(seed(" ".join(base), id=f"{n}b"))
    found, filter_ = kept(*seeds, threshold=0.8)
    assert len(found) == 300
    assert filter_.counts.near == 300
    again, _ = kept(*seeds, threshold=0.8)
    assert again == found


def test_seeds_are_screened_by_language_length_and_date() -> None:
    refused: Counter[str] = Counter()
    seeds = [
        seed("Find the price of the ticket"),
        seed("Encuentra los horarios de la tienda en Madrid"),
        seed("Hi"),
        seed("long " * 2_000),
        seed("Book it for March 18", date_bound=True),
        seed("Find out who was first", website=""),
    ]
    rules = SeedRules(date_bound=False, without_website=False)
    assert list(screen(seeds, rules, refused)) == seeds[:1]
    assert refused == {"language": 1, "too short": 1, "too long": 1, "date-bound": 1, "no website": 1}
    assert len(list(screen(seeds, SeedRules(), Counter()))) == 3
    assert len(list(screen(seeds, SeedRules(languages=()), Counter()))) == 4


def test_rules_that_let_nothing_pass_are_refused_with_both_values() -> None:
    with pytest.raises(ValidationError, match=r"50.*20"):
        SeedRules(min_characters=50, max_characters=20)


CALM, PLAIN = LONG.replace("quiet", "calm"), LONG.replace("quiet", "calm").replace("rating", "score")


@pytest.mark.parametrize("threshold", [0.9, 1])
def test_a_kept_seed_is_told_of_its_evaluation_only_twin_whatever_the_order(threshold: float) -> None:
    free, held = seed(LONG, id="free", source="a"), seed(LONG.upper(), id="held", source="b", evaluation_only=True)
    _, filter_ = kept(free, seed("Find something else entirely"), held, threshold=threshold)
    assert filter_.held == {"free": {"b"}}
    found, filter_ = kept(held, free, threshold=threshold)
    assert (found, filter_.held) == ([held.instruction], {})


def test_a_near_twin_and_one_of_the_same_id_hold_back_too() -> None:
    _, filter_ = kept(seed(LONG, id="free"), seed(CALM, source="b", evaluation_only=True))
    assert filter_.held == {"free": {"b"}}
    _, filter_ = kept(seed("Find one", id="x"), seed("Look for another", id="x", source="b", evaluation_only=True))
    assert filter_.held == {"x": {"b"}}


def test_an_evaluation_only_seed_that_went_still_holds_back_its_later_twins() -> None:
    found, filter_ = kept(
        seed(LONG, id="first"), seed(CALM, source="b", evaluation_only=True), seed(PLAIN, id="last"), threshold=0.85
    )
    assert found == [LONG, PLAIN], "the last is a twin of the second, and not of the first"
    assert filter_.held == {"first": {"b"}, "last": {"b"}}
