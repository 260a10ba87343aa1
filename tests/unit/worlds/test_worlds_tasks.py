"""Tasks are made again from their ids, and the verifier passes only what was shown, said and done."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

import psutil
import pytest

from tests.processes import running
from webgym.errors import ConfigError
from webgym.types import Answered, Episode, Infra, Step, Unscorable, Wait
from webgym.worlds import catalogue, state, tasks, verify
from webgym.worlds.checks import Reached, Says, Shown, chosen, contains, numbers_in_a_row, plain
from webgym.worlds.making import Maker
from webgym.worlds.names import host_of, site_of
from webgym.worlds.sites import KINDS
from webgym.worlds.state import Record, State
from webgym.worlds.subjects import alone
from webgym.worlds.tasks import TaskId, WorldTask

SHOP = host_of(0, KINDS["shop"], 5)
LOOKUP = TaskId(0, (SHOP,), "lookup", (3, 1), 4)
ORDER = TaskId(0, (SHOP,), "order", (2, 1), 4)


def solved(task: WorldTask, **changes: object) -> Episode:
    """An episode that shows, says and does everything the task's checks ask for, unless changed."""
    steps: list[Step] = []
    fields: dict[tuple[str, str], dict[str, str]] = {}
    for group in task.groups:
        for fact in group.facts:
            for check in fact.checks:
                if isinstance(check, Shown):
                    visible = "\n".join(f'text "{text}"' for text in check.texts)
                    url = f"http://{check.host}:8090{check.page}"
                    steps.append(Step(index=len(steps), screenshot=None, url=url, title="", visible=visible, action=Wait()))
                elif isinstance(check, Reached):
                    fields.setdefault((check.host, check.record), {}).update(check.fields)
    kept = {
        host: state.write(0, host, State(records=(Record(kind=kind, fields=values),)))
        for (host, kind), values in fields.items()
    }
    given = {
        "steps": tuple(steps),
        "final_visible": "",
        "answer": task.answer,
        "state": kept,
        "outcome": Answered(),
    } | changes
    return Episode(
        id="0" * 32, run="r", iteration=0, task=task.task(), agent="a", width=1280, height=768, started=0, ended=1, **given
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_generator_makes_tasks_that_can_be_found_again(kind: str):
    host = host_of(0, KINDS[kind], 11)
    for name, generator in KINDS[kind].generators.items():
        shape = tuple(max(1, least) for least, _ in generator.limits[:1])
        made = []
        for number in range(30):
            try:
                made.append(tasks.make(TaskId(0, (host,), name, shape, number)))
            except tasks.CannotMake:
                continue
        assert len(made) >= 5, name
        for task in made:
            assert tasks.find(str(task.id)) == task
            assert task.sizes == shape
            assert "{}" not in task.text
            assert task.route


def test_phrasings_differ():
    openings = {tasks.make(TaskId(0, (SHOP,), "lookup", (1,), number)).text.split(" the ")[0] for number in range(40)}
    assert len(openings) >= 3


def test_children_ask_for_their_groups_and_nothing_else():
    parent = tasks.make(LOOKUP)
    (child,) = tasks.children(parent)
    assert child.groups == parent.groups[:1]
    assert child.task().parent_id == str(parent.id)
    assert parent.groups[1].ask in parent.text
    assert parent.groups[1].ask not in child.text
    assert tasks.find(str(child.id)) == child


@pytest.mark.parametrize(
    ("sizes", "expected"), [((3, 1), 1), ((3, 3), 2), ((3, 1, 1), 3), ((4, 3, 2), 5), ((2, 2), 0), ((5,), 0)]
)
def test_the_decomposition_rule_is_that_of_the_task_set(sizes: tuple[int, ...], expected: int):
    from webgym.tasks.decompose import subsets

    assert len(tasks.subsets(sizes)) == expected
    assert tasks.subsets(sizes) == list(subsets(sizes))


def test_a_task_over_several_sites_has_facts_of_each():
    bank = host_of(0, KINDS["bank"], 7)
    task = tasks.make(TaskId(0, (SHOP, bank), tasks.ACROSS, (2, 2), 1))
    hosts = {
        check.host for group in task.groups for fact in group.facts for check in fact.checks if isinstance(check, Shown)
    }
    assert hosts == {SHOP, bank}
    assert f"http://{bank}:9000/" in task.task(port=9000).instruction
    assert tasks.find(str(task.id)) == task


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "worlds-0:example.com:lookup.1:0",
        f"worlds-0:{SHOP}:fly.1:0",
        f"worlds-0:{SHOP}:lookup.9:0",
        f"worlds-0:{SHOP}:lookup.2-2:0+1",
    ],
)
def test_an_id_nobody_made_is_refused(wrong: str):
    with pytest.raises(ConfigError):
        tasks.find(wrong)


@pytest.mark.parametrize("wanted", [LOOKUP, ORDER])
def test_the_verifier_passes_what_was_shown_said_and_done(wanted: TaskId):
    verdict = verify.verify(solved(tasks.make(wanted)))
    assert verdict.kind == "scored"
    assert verdict.reward == 1, [fact.reason for fact in verdict.facts]


@pytest.mark.parametrize("answer", [None, "", "   ", "0; 1; 2; 3"])
def test_no_answer_and_a_wrong_one_fail_every_fact_that_must_be_said(answer: str | None):
    task = tasks.make(LOOKUP)
    verdict = verify.verify(solved(task, answer=answer))
    assert verdict.kind == "scored"
    assert verdict.reward == 0
    assert all("answer" in fact.reason for fact in verdict.facts if not fact.met)
    assert not all(fact.met for fact in verdict.facts)


EVERY_NUMBER = " ".join(map(str, range(2000)))


def test_an_answer_that_lists_everything_says_nothing():
    """A policy that is paid for a dump of the page or of all numbers would learn to write dumps."""
    task = tasks.make(LOOKUP)
    dump = f"{EVERY_NUMBER} {task.answer}"
    verdict = verify.verify(solved(task, answer=dump))
    assert verdict.kind == "scored"
    assert verdict.reward == 0
    plainly = f"the answer has {len(plain(dump))} characters, at most {task.answer_limit} were expected of it"
    assert verdict.reason == plainly
    assert [fact.reason for fact in verdict.facts] == [plainly] * 4


@pytest.mark.parametrize("between", [" ", ", ", " or ", "; and ", "\n- "])
def test_an_answer_that_counts_numbers_through_says_nothing(between: str):
    task = tasks.make(LOOKUP)
    room = verify.NUMBERS + numbers_in_a_row(task.answer)
    for count, reward in ((room, 1), (room + 1, 0)):
        answer = f"{task.answer}. Numbers on the way: {between.join(map(str, range(count)))}"
        verdict = verify.verify(solved(task, answer=answer))
        assert verdict.kind == "scored"
        assert verdict.reward == reward
    assert verdict.reason == f"the answer has {room + 1} numbers in a row, at most {room} were expected of it"


def test_an_answer_of_just_the_expected_length_passes_and_one_character_more_fails():
    task = tasks.make(LOOKUP)
    room = task.answer_limit - len(plain(task.answer)) - 1
    for length, reward in ((room, 1), (room + 1, 0)):
        verdict = verify.verify(solved(task, answer=f"{task.answer}\n\n   {'x' * length}"))
        assert verdict.kind == "scored"
        assert verdict.reward == reward


def test_a_right_answer_with_an_explanation_passes():
    task = tasks.make(TaskId(0, (SHOP,), "lookup", (1,), 4))
    why = "I searched the shop for the product, opened its page and scrolled down to the table that has what was asked. " * 3
    verdict = verify.verify(solved(task, answer=f"{why}So the answer is this: {task.answer}."))
    assert verdict.kind == "scored"
    assert verdict.reward == 1


def test_a_long_report_of_what_was_done_is_no_fault_where_nothing_had_to_be_said():
    verdict = verify.verify(solved(tasks.make(ORDER), answer=f"Ordered. {EVERY_NUMBER}"))
    assert verdict.kind == "scored"
    assert verdict.reward == 1


def test_an_episode_played_without_outlines_says_nothing_of_the_agent():
    verdict = verify.verify(solved(tasks.make(LOOKUP), steps=(), final_visible=None))
    assert verdict.kind == "unscorable"
    assert "no outline of any page was kept" in verdict.reason


def test_a_right_answer_that_was_never_on_screen_fails():
    verdict = verify.verify(solved(tasks.make(LOOKUP), steps=()))
    assert verdict.kind == "scored"
    assert [fact.met for fact in verdict.facts] == [False] * 4
    assert all("never on screen" in fact.reason for fact in verdict.facts)


@pytest.mark.parametrize("kept", [{}, {SHOP: "forged"}, {SHOP: state.write(1, SHOP, State())}])
def test_an_order_that_is_not_in_the_state_fails(kept: dict[str, str]):
    verdict = verify.verify(solved(tasks.make(ORDER), state=kept))
    assert verdict.kind == "scored"
    assert verdict.reward == 0
    assert not any(fact.met for fact in verdict.facts)


def test_two_orders_are_not_the_one_that_was_asked_for():
    task = tasks.make(ORDER)
    once = state.read(0, SHOP, solved(task).state[SHOP])
    twice = state.write(0, SHOP, State(records=once.records * 2))
    verdict = verify.verify(solved(task, state={SHOP: twice}))
    assert verdict.kind == "scored"
    assert verdict.reward == 0


def test_what_the_infrastructure_broke_is_not_scored():
    verdict = verify.verify(solved(tasks.make(LOOKUP), outcome=Infra(reason="the browser died")))
    assert isinstance(verdict, Unscorable)


@pytest.mark.parametrize(
    ("where", "what", "expected"),
    [
        ("it costs $1,240.50 today", "$1240.50", True),
        ("it costs 1240.5 dollars", "$1,240.50", True),
        ("112 pieces", "12", False),
        ("12 pieces", "12", True),
        ("rated 4.5", "4", False),
        ("about 5 of them.", "5", True),
        ("The OAK table", "oak", True),
        ("a soaking table", "oak", False),
        ("3.10%", "3.1", True),
        ("180cm tall", "180", True),
        ("a walk of 12.4km.", "12.4", True),
        ("42m", "42", True),
        ("1,240m²", "1240", True),
        ("3m listeners", "3,000,000", False),
        ("the 5th", "5", False),
        ("A12m", "12", False),
        ("380g of butter", "380 g", True),
        ("it takes 1h 20min", "1 h 20 min", True),
        ("", "", False),
    ],
)
def test_text_is_compared_by_whole_words_and_numbers_by_value(where: str, what: str, expected: bool):
    assert contains(plain(where), what) is expected
    assert (Says(what).problem(where) is None) is expected


SAME = {
    "$45.00": ("US$45.00", "US$ 45", "45.00 USD", "It costs$45.00."),
    "54 × 113 cm": ("54x113 cm", "54 x 113 cm", "54×113cm", "54 cm x 113 cm"),
    "argon-cache": ("argon\u2011cache", "argon\u2010cache", "_argon-cache_", "__argon-cache__"),
    "68": ("_68_", "*68*"),
    "2 h 00 min": ("2 hours", "2h", "2 hrs", "2 h 0 min", "2 hours and it costs nothing"),
    "9:00 to 17:00": ("9:00-17:00", "9:00 – 17:00", "09:00 until 17:00", "9:00 am – 5:00 pm", "9am-5pm", "9 a.m. to 5 p.m."),
    "2 h 05 min": ("2h 5min", "2h05min", "2 hours 5 minutes", "2 hours and 5 minutes", "2 hrs, 5 mins", "2h 5m"),
    "2026-07-04": (
        "July 4, 2026",
        "4 July 2026",
        "Jul 4 2026",
        "the 4th of July, 2026",
        "July 04, 2026",
        "jul. 4th, 2026",
        "2026/07/04",
    ),
    "1 September 2026": ("2026-09-01", "Sept 1, 2026", "Sep. 1, 2026", "1 Sep 2026"),
    "07:05": ("7:05", "7:05 am", "07:05"),
    "0:30": ("12:30 am", "00:30"),
    "12:30": ("12:30 pm", "12:30 p.m."),
}
OTHERS = {
    "$45.00": ("US$450", "US$45.50", "A45.00"),
    "54 × 113 cm": ("154x113 cm", "54x11 cm", "54x113 mm", "113 x 54 cm"),
    "9:00 to 17:00": ("9:00-17:30", "19:00-17:00", "9:00, 17:00", "9pm-5am"),
    "argon-cache": ("argon_cache", "argon cache"),
    "68": ("stock_68", "68_a"),
    "2 h 00 min": ("2 hours 10 minutes", "12 hours", "2.5 hours", "2 hours and a half", "2 minutes", "2"),
    "2 h 05 min": ("2 h 50 min", "12h 5min", "2h 15min", "2.5 hours"),
    "2026-07-04": ("July 14, 2026", "4 June 2026", "4 July 2025", "14 July 2026", "4/7/2026", "7/4/2026", "July 4"),
    "07:05": ("7:05 pm", "17:05", "07:50"),
    "12:30": ("12:30 am",),
}


@pytest.mark.parametrize(("what", "written"), [(what, one) for what, all_ in SAME.items() for one in all_])
def test_what_means_the_same_is_the_same_however_it_is_written(what: str, written: str):
    assert Says(what).problem(f"It is {written}.") is None


@pytest.mark.parametrize(("what", "written"), [(what, one) for what, all_ in OTHERS.items() for one in all_])
def test_what_means_something_else_or_may_is_refused(what: str, written: str):
    assert Says(what).problem(f"It is {written}.") is not None


@pytest.mark.parametrize("text", [text for what, written in (SAME | OTHERS).items() for text in (what, *written)])
def test_plain_text_is_plain_already(text: str):
    assert plain(plain(text)) == plain(text)
    assert plain(f"  {text.upper()}\n") == plain(text)


@pytest.mark.parametrize("answer", ["2026-07-05", "July 5, 2026", "5 July 2026", "at 7:05", "5:00 pm", "07:05-07:26"])
def test_the_numbers_of_a_date_or_a_time_are_no_answer_to_how_many(answer: str):
    for count in ("5", "7", "0", "26"):
        assert Says(count).problem(f"It is {answer}.") is not None
    assert Says("5").problem(f"There are 5, counted on {answer}.") is None


def test_whoever_gives_a_date_has_said_its_year():
    assert Says("2026").problem("It came out on July 5, 2026.") is None


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("3.10", True),
        ("Python 3.10 or newer.", True),
        (">=3.10", True),
        ("3.1", False),
        ("3.10.2", False),
        ("2.3.10", False),
    ],
)
def test_a_version_is_compared_as_text(answer: str, right: bool):
    assert (Says("3.10", as_text=True).problem(answer) is None) is right


def says(kind: str, generator: str, shape: tuple[int, ...]) -> Iterator[Says]:
    """What answers to tasks of a generator must say, on a site of the kind."""
    host = host_of(0, KINDS[kind], 11)
    for number in range(80):
        try:
            task = tasks.make(TaskId(0, (host,), generator, shape, number))
        except tasks.CannotMake:
            continue
        yield from (
            check for group in task.groups for fact in group.facts for check in fact.checks if isinstance(check, Says)
        )


def test_sites_ask_for_versions_and_identifiers_as_text():
    versions = [check for check in says("software", "lookup", (4,)) if check.text in ("3.10", "3.11", "3.12")]
    identifiers = [check for check in says("papers", "lookup", (4,)) if "." in check.text and check.text[:4].isdecimal()]
    for checks in (versions, identifiers):
        assert checks
        for check in checks:
            assert check.problem(check.text) is None
            assert check.problem(f"{check.text}0") is not None


@pytest.mark.parametrize(("generator", "shape"), [("lookup", (4,)), ("collect", (4,))])
def test_a_final_score_may_be_written_as_people_write_it(generator: str, shape: tuple[int, ...]):
    scores = [check for check in says("league", generator, shape) if "–" in check.text]
    assert scores
    for check in scores:
        for sign in ("–", "-", ":", " - ", " – "):
            assert check.problem(f"It ended {check.text.replace('–', sign)}.") is None
        assert check.problem("It ended 11–12.") is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_comparison_that_names_the_wrong_one_is_not_rewarded(kind: str):
    """An answer that compares names every thing beside its number, so that the right name alone says nothing."""
    host, generator = host_of(0, KINDS[kind], 11), "rates" if kind == "bank" else "compare"
    winners_places = set()
    for number in range(12):
        try:
            task = tasks.make(TaskId(0, (host,), generator, (4,), number))
        except tasks.CannotMake:
            continue
        assert "at the end of the answer, which of them is the " in task.text
        *numbers, verdict = task.groups[0].facts
        (check,) = verdict.checks
        assert isinstance(check, Says)
        assert len(check.over) == 3
        winners_places.add(check.over.index(check.text))
        listing, best = "; ".join(fact.answer for fact in numbers), verdict.answer.removesuffix(check.text)
        for name in check.over:
            for end in (f"{best}{name}", f"So {name} is the {best.removesuffix(': ')} of all, as its number shows."):
                scored = verify.verify(solved(task, answer=f"{listing}. {end}"))
                assert scored.kind == "scored"
                assert scored.reward == (name == check.text), (end, scored)
                assert all(fact.met for fact in scored.facts[:-1])
        scored = verify.verify(solved(task, answer=listing))
        assert scored.kind == "scored"
        assert scored.reward == 0, "a list alone says nothing of which is which"
    assert len(winners_places) > 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Oak: 5, Oak Lamp: 6, Elm: 4. The cheapest is Elm.", "elm"),
        ("Oak: 5, Oak Lamp: 6, Elm: 4. The cheapest is **Oak** ($5).", "oak"),
        ("Oak: 5, Oak Lamp: 6, Elm: 4. The cheapest is the “Oak  lamp”.", "oak lamp"),
        ("Oak: 5, Oak Lamp: 6, Elm: 4\n\nOak", "oak"),
        ("Oak is 5, Oak Lamp is 6, and Elm, at 4, is the cheapest.", "elm"),
        ("They cost 5, 6 and 4. So: Elm.", "elm"),
        ("Oak: 5, Oak Lamp: 6, Elm: 4", None),
        ("The cheapest is Oak. Oak Lamp: 6, Elm: 4", None),
        ("They cost 5, 6 and 4.", None),
        ("Oaken, Elmwood", None),
    ],
)
def test_the_one_chosen_is_the_last_that_is_named_unless_it_is_a_mere_list(answer: str, expected: str | None):
    assert chosen(plain(answer), ("Oak", "Elm", "Oak Lamp")) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_repeats_the_names_of_an_instruction_has_named_what_is_compared(kind: str):
    host, generator = host_of(0, KINDS[kind], 11), "rates" if kind == "bank" else "compare"
    compared = 0
    for number in range(12):
        try:
            task = tasks.make(TaskId(0, (host,), generator, (4,), number))
        except tasks.CannotMake:
            continue
        check = task.groups[0].facts[-1].checks[0]
        assert isinstance(check, Says)
        for name in check.over:
            ways = (name, *(alias for alias, meant in check.aliases if meant == name))
            assert any(contains(plain(task.text), way) for way in ways), (ways, task.text)
            compared += 1
    assert compared


@pytest.mark.parametrize(
    ("kind", "generator", "written"),
    [
        ("jobs", "compare", lambda name: name.replace("(", "(reference ")),
        ("jobs", "filter", lambda name: name.replace("(", "(reference ")),
        ("travel", "compare", lambda name: name.removeprefix("Flight ")),
        ("travel", "fly", lambda name: name.removeprefix("Flight ")),
    ],
)
def test_a_job_by_its_reference_and_a_flight_by_its_number_are_named(
    kind: str, generator: str, written: Callable[[str], str]
):
    tried = 0
    for check in says(kind, generator, (3,)):
        names = check.over or check.alone_of
        if not names or written(check.text) == check.text:
            continue
        tried += 1
        others = [written(name) for name in names if name != check.text]
        best, listed = written(check.text), f"{written(check.text)}: 4, {', '.join(f'{name}: 5' for name in others)}"
        if check.over:
            assert check.problem(f"{listed}. The best is {best}.") is None
            assert check.problem(f"{listed}. The best is {others[0]}.") is not None
            assert check.problem(listed) is not None
        else:
            assert check.problem(f"The best is {best}, operated by Northwind Air.") is None
            assert check.problem(listed) is not None
        assert check.problem(others[0]) is not None
    assert tried >= 5


NARROWING = [
    (kind, generator)
    for kind, names in {
        **dict.fromkeys(set(KINDS) - {"bank"}, ("narrow", "filter")),
        "encyclopedia": ("first",),
        "estate": ("narrow", "slider"),
        "league": ("filter", "most"),
        "papers": ("filter", "advanced"),
        "travel": ("filter", "fly"),
    }.items()
    for generator in names
    if generator in KINDS[kind].generators
]


def test_every_kind_but_the_bank_narrows_down():
    assert {kind for kind, _ in NARROWING} == set(KINDS) - {"bank"}


@pytest.mark.parametrize(("kind", "generator"), sorted(NARROWING))
def test_who_lists_everything_to_choose_from_has_not_found_the_one_that_fits(kind: str, generator: str):
    tried = 0
    for number in range(16):
        try:
            task = tasks.make(TaskId(0, (host_of(0, KINDS[kind], number % 2),), generator, (2 + number // 8,), number))
        except tasks.CannotMake:
            continue
        (check,) = (one for one in task.groups[0].facts[0].checks if isinstance(one, Says))
        rest = "; ".join(fact.answer for fact in task.groups[0].facts[1:])
        rivals = [name for name in check.alone_of if plain(name) != plain(check.text)]
        if not rivals:
            continue
        tried += 1
        for right in (task.answer, f"{check.text}; {rest}", f"I looked them up: {check.text} it is. {rest}."):
            scored = verify.verify(solved(task, answer=right))
            assert scored.kind == "scored"
            assert scored.reward == 1, scored
        for names in ((check.text, rivals[0]), (rivals[-1], check.text), (*rivals[:2], check.text)):
            scored = verify.verify(solved(task, answer=f"{', '.join(names)}; {rest}"))
            assert scored.kind == "scored"
            assert scored.reward == 0, names
    assert tried >= 3


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Oak", True),
        ("It is the oak, at $5.", True),
        ("Oak Lamp", False),
        ("Oak, Elm", False),
        ("Oak; Oak Lamp", False),
        ("Oak, of elmwood", True),
        ("Elm", False),
    ],
)
def test_a_name_that_must_stand_alone_is_refused_beside_another(answer: str, right: bool):
    assert (Says("Oak", alone_of=("Oak", "Elm", "Oak Lamp")).problem(answer) is None) is right
    assert Says("Oak Lamp", alone_of=("Oak", "Oak Lamp")).problem("The oak lamp.") is None


def test_a_name_that_a_right_answer_has_anyway_may_stand_beside():
    """As the writer of an album may be called like another album, or a colour that is asked for like a lamp."""
    site = site_of(0, SHOP)
    make = Maker(site, None, site.draw("test"), (2,))
    beside = (make.find("/p/oak", "Oak", "designer", "Elm Ash"),)
    check = alone(make, "Oak", ("Oak", "Elm", "Red", "Fir"), "The cheapest product with colour red is Oak.", beside)
    assert check == Says("Oak", alone_of=("Oak", "Fir"))


def test_a_small_set_has_the_published_shape():
    began = time.monotonic()
    made = list(catalogue.generate(0, 3_000, port=8090, workers=1))
    assert time.monotonic() - began < 60
    train, test = ([task for task in made if task.split == split] for split in ("train", "test"))
    whole = sum(catalogue.HISTOGRAM.values())
    sizes = Counter(min(10, task.difficulty) for task in train)
    for size, number in catalogue.HISTOGRAM.items():
        assert abs(sizes[size] - number * 3_000 / whole) <= 3
    assert abs(sum(task.parent_id is not None for task in train) - 3_000 * catalogue.DECOMPOSED / catalogue.TRAIN) <= 30
    assert len({task.id for task in made}) == len(made)
    assert not {task.website for task in train} & {task.website for task in test}
    assert len({task.website for task in test}) == len(test)
    for made_task in made:
        task = tasks.find(made_task.id)
        assert 2 * len(task.answer) < (task.answer_limit or math.inf), "an honest answer may use twice the oracle's words"


def test_any_number_of_processes_makes_the_same_set():
    assert list(catalogue.generate(3, 400, port=8090, workers=2)) == list(catalogue.generate(3, 400, port=8090, workers=1))


GENERATING = """
import time
from webgym.worlds.catalogue import generate

if __name__ == "__main__":
    tasks = generate(0, 50_000, port=8090, workers=2)
    next(tasks)
    print("begun", flush=True)
    time.sleep(60)
"""


def test_workers_end_with_whoever_makes_tasks(tmp_path):
    script = tmp_path / "generating.py"
    script.write_text(GENERATING)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "begun\n"
        workers = [process.pid for process in psutil.Process(maker.pid).children(recursive=True)]
        maker.kill()
    assert len(workers) >= 2
    until = time.monotonic() + 20
    while any(map(running, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(running, workers))
