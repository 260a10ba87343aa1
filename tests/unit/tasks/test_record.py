"""The public record in all its forms, and the taxonomy it names."""

from __future__ import annotations

import pytest

from webgym.tasks.record import FIELDS, from_record, read_answer, read_groups, split_of, to_record
from webgym.tasks.rows import Misfit, Row
from webgym.tasks.taxonomy import DOMAIN_OF, DOMAINS, mistake, spelled
from webgym.types import FactGroup

RECORD: dict[str, object] = {
    "benchmark_name": "InSTA-v3",
    "task_name": "Find the opening hours and the price of a day ticket",
    "domain": "Travel & Transportation",
    "subdomain": "Ticketed Activities",
    "website": "https://zoo.example",
    "difficulty": 3,
    "evaluator_reference": [
        {"id": 1, "description": "hours", "facts": ["opens at 9", "closes at 18"]},
        {"id": 2, "description": "price", "facts": ["a day ticket costs 12"]},
    ],
    "definite_answer": None,
    "task_id": "insta-v3/1",
}


def row(**changes: object) -> Row:
    return Row("train.jsonl", 1, {**RECORD, **changes})


def test_a_record_goes_through_a_task_unchanged() -> None:
    record = to_record(from_record(row()))
    assert record == RECORD
    assert tuple(record) == FIELDS


@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        ("The price is shown", [("The price is shown",)]),
        (["The price is shown", "  The date is shown "], [("The price is shown", "The date is shown")]),
        ('["one", "two"]', [("one", "two")]),
        ('[{"id": 1, "description": "d", "facts": ["one"]}]', [("one",)]),
        ("[not json", [("[not json",)]),
        ([{"description": "d", "facts": "one"}, {"facts": ["", " "]}], [("one",)]),
        (["loose", {"id": 1, "description": "d", "facts": ["one"]}], [("loose",), ("one",)]),
        ([{"id": 1, "facts": ["one"]}, {"id": 1, "facts": ["two"]}], [("one",), ("two",)]),
        (None, []),
        ("", []),
        ([], []),
        (7, []),
    ],
)
def test_every_form_of_the_rubric_is_read(reference: object, facts: list[tuple[str, ...]]) -> None:
    groups = read_groups(reference)
    assert [group.facts for group in groups] == facts
    assert len({group.id for group in groups}) == len(groups)


def test_groups_keep_their_own_ids() -> None:
    assert read_groups([{"id": 4, "description": "d", "facts": ["x"]}]) == (FactGroup(id=4, description="d", facts=("x",)),)


@pytest.mark.parametrize(
    ("value", "answer"),
    [(None, None), ("", None), (" 42 ", "42"), (42, "42"), (["a", None, "b"], "a; b"), ([], None), (True, "True")],
)
def test_every_form_of_the_answer_is_read(value: object, answer: str | None) -> None:
    assert read_answer(value) == answer


def test_absent_fields_that_can_be_empty_are() -> None:
    values = {name: RECORD[name] for name in ("benchmark_name", "task_name", "task_id")}
    task = from_record(Row("f", 1, values))
    assert (task.website, task.groups, task.reference_answer, task.difficulty) == ("", (), None, 0)


def test_a_record_without_a_task_is_refused_without_quoting_it() -> None:
    with pytest.raises(Misfit, match="task_name"):
        from_record(row(task_name="  "))


def test_numbers_serve_as_ids() -> None:
    assert from_record(row(task_id=17)).id == "17"


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("test.jsonl", "test"),
        ("a/webgym-test.jsonl", "test"),
        ("train.jsonl", "train"),
        ("latest.jsonl", "train"),
        ("hf:owner/name:test", "test"),
        ("hf:owner/test_name:train", "train"),
    ],
)
def test_the_split_is_told_by_the_name(name: str, split: str) -> None:
    assert split_of(name) == split


def test_the_taxonomy_has_24_subdomains_in_6_domains() -> None:
    assert (len(DOMAINS), len(DOMAIN_OF), sum(map(len, DOMAINS.values()))) == (6, 24, 24)


def test_names_are_spelled_the_taxonomys_way() -> None:
    assert spelled("misc") == "Misc."
    assert spelled("general info") == "General Info."
    assert spelled("Films and TV shows") == "Films & TV Shows"
    assert spelled(" Astrology ") == "Astrology"


def test_mistakes_in_the_taxonomy_are_named() -> None:
    assert mistake("Entertainment", "Music") is None
    assert "belongs to" in (mistake("Misc.", "Music") or "")
    assert "no domain" in (mistake("Music", "Music") or "")
    assert "no subdomain" in (mistake("Misc.", "Weather") or "")


@pytest.mark.parametrize("value", [float("nan"), [float("nan")]])
def test_what_is_not_a_number_is_no_answer_and_no_text(value: object) -> None:
    assert read_answer(value) is None
    assert Row("f", 1, {"a": value, "b": 2}).maybe("a", "b") == "2"


@pytest.mark.parametrize("told", ["7" * 5_000, 1 << 63, "9" * 19, -1, True, 1.5])
def test_a_group_whose_number_no_file_can_hold_is_known_by_its_place(told: object) -> None:
    groups = read_groups([{"id": 7, "facts": ["one"]}, {"id": told, "facts": ["two"]}])
    assert [group.id for group in groups] == [7, 2]
