"""Samplers: reproducible draws, no task twice in a walk, proportions kept, unusable websites left out of training only."""

from __future__ import annotations

import math
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webgym.errors import ConfigError
from webgym.tasks.files import write_tasks
from webgym.tasks.health import Health, Visited
from webgym.tasks.sampler import Ratio, Sampler, SamplerSettings, shuffled, walk_test_set
from webgym.tasks.websites import site
from webgym.types import FactGroup, Task


def make(n: int, website: str, facts: int, split: str = "train") -> Task:
    group = FactGroup(id=1, description="", facts=tuple(f"fact {f}" for f in range(facts)))
    given = {
        "id": f"t{n}",
        "source": "s",
        "instruction": f"Do {n}",
        "website": website,
        "domain": "Misc.",
        "subdomain": "News",
    }
    return Task.model_validate({**given, "groups": (group,), "split": split})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 training tasks, half of them on one website, and 40 test tasks."""
    path = tmp_path_factory.mktemp("tasks") / "tasks.parquet"
    train = [make(n, "https://big.example" if n % 2 else f"https://www.site{n % 60}.example", n % 9 + 1) for n in range(600)]
    test = [make(1_000 + n, f"https://test{n}.example", 2, "test") for n in range(40)]
    mixed = [task for pair in zip(train[:40], test, strict=True) for task in pair] + train[40:]
    write_tasks(path, mixed)
    return path


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Files of 1 to 60 training tasks."""
    folder = tmp_path_factory.mktemp("small")
    for size in range(1, 61):
        write_tasks(folder / f"{size}.parquet", [make(n, f"https://site{n % 7}.example", 1) for n in range(size)])
    return {size: folder / f"{size}.parquet" for size in range(1, 61)}


def ids(tasks: list[Task]) -> list[str]:
    return [task.id for task in tasks]


@given(size=st.integers(1, 3_000), key=st.text(max_size=12))
@settings(max_examples=30, deadline=None)
def test_a_shuffle_is_a_permutation(size: int, key: str):
    assert sorted(shuffled(n, size, key) for n in range(size)) == list(range(size))


def test_a_shuffle_depends_on_its_key_and_leaves_little_in_place():
    rows = {key: [shuffled(n, 1_000, key) for n in range(1_000)] for key in ("a", "b", "1 all 0", "1 all 1")}
    assert len({tuple(row) for row in rows.values()}) == 4
    for row in rows.values():
        assert sum(n == row[n] for n in range(1_000)) < 15
        assert abs(sum(row[:500]) / 500 - 499.5) < 50


@given(
    seed=st.integers(-5, 2**40), count=st.integers(1, 200), spare=st.floats(0, 3), by=st.sampled_from(["task", "website"])
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_draw_is_reproducible_and_has_no_task_twice(file: Path, seed: int, count: int, spare: float, by: str):
    chosen = SamplerSettings.model_validate({"seed": seed, "spare": spare, "by": by})
    with Sampler.open(file, chosen) as one, Sampler.open(file, chosen) as other:
        late = [other.rows(n, count) for n in (3, 2, 1, 0)][::-1]  # the order of asking does not matter
        early = [one.rows(n, count) for n in range(4)]
    assert early == late
    assert all(len(set(rows)) == len(rows) for rows in early)
    if by == "task":
        assert all(len(rows) == count for rows in early)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 150),
    spare=st.floats(0, 2),
    shut=st.lists(st.sets(st.integers(0, 59)), min_size=12, max_size=12),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_task_comes_back_before_the_walk_is_over_whatever_is_blocked_meanwhile(
    file: Path, seed: int, count: int, spare: float, shut: list[set[int]]
):
    owned = math.ceil(count * (1 + spare))
    with Sampler.open(file, SamplerSettings(seed=seed, spare=spare)) as sampler:
        drawn: list[int] = []
        iteration = 0
        while (iteration + 1) * owned <= 600:  # as many iterations as the set holds with their spare
            blocked = [f"site{k}.example" for k in shut[iteration % 12]]
            drawn += sampler.rows(iteration, count, blocked=blocked)
            iteration += 1
    assert len(drawn) == len(set(drawn))


@given(seed=st.integers(0, 2**32), count=st.integers(1, 700), spare=st.floats(0, 10))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_two_draws_share_no_more_than_they_must(file: Path, seed: int, count: int, spare: float):
    with Sampler.open(file, SamplerSettings(seed=seed, spare=spare)) as sampler:
        first, second = (set(sampler.rows(n, count)) for n in range(2))
    size = min(count, 600)
    assert len(first) == len(second) == size
    assert len(first & second) == max(0, 2 * size - 600)  # the pigeonholes leave no fewer


@given(seed=st.integers(0, 2**32), size=st.integers(1, 60), count=st.integers(1, 60), start=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_draws_in_a_row_from_a_small_set_share_no_more_than_they_must(
    some: dict[int, Path], seed: int, size: int, count: int, start: int
):
    """A set is small if it does not hold two iterations with their spare."""
    count = min(count, size)
    with Sampler.open(some[size], SamplerSettings(seed=seed, spare=10)) as sampler:
        draws = [set(sampler.rows(start + n, count)) for n in range(5)]
    assert all(len(drawn) == count for drawn in draws)
    if 2 * 11 * count > size:
        assert [len(one & next_one) for one, next_one in pairwise(draws)] == [max(0, 2 * count - size)] * 4


@pytest.mark.parametrize(("size", "shared"), [(2_000, 48), (2_048, 0), (2_500, 0), (1_024, 1_024)])
def test_iterations_of_the_offline_webs_size_share_little(tmp_path: Path, size: int, shared: int):
    write_tasks(tmp_path / "t.parquet", [make(n, f"https://site{n % 50}.example", 1) for n in range(size)])
    with Sampler.open(tmp_path / "t.parquet", SamplerSettings()) as sampler:
        draws = [set(sampler.rows(n, 1_024)) for n in range(7)]
    assert [len(drawn) for drawn in draws] == [1_024] * 7
    assert [len(one & next_one) for one, next_one in pairwise(draws)] == [shared] * 6


@pytest.mark.parametrize(("size", "count"), [(5, 2), (5, 1), (5, 3), (6, 2), (59, 25), (60, 40)])
def test_every_task_of_a_small_set_comes_as_often_as_the_next(some: dict[int, Path], size: int, count: int):
    with Sampler.open(some[size], SamplerSettings(seed=2)) as sampler:
        seen = Counter(row for n in range(60 * size // count) for row in sampler.rows(n, count))
    assert len(seen) == size
    assert min(seen.values()) > 40  # 60 each on average
    assert max(seen.values()) < 80


def test_what_is_blocked_in_a_small_set_is_replaced_from_all_of_it(file: Path):
    with Sampler.open(file, SamplerSettings(seed=8)) as sampler:
        draws = [set(sampler.rows(n, 290, blocked=["site2.example", "site4.example"])) for n in range(4)]
        usable = set(sampler.rows(0, 600, blocked=["site2.example", "site4.example"]))
    assert len(usable) == 580
    assert all(len(drawn) == 290 and drawn <= usable for drawn in draws)
    assert all(len(one & next_one) < 30 for one, next_one in pairwise(draws))


def test_without_spare_a_walk_takes_every_training_task_and_no_test_task(file: Path):
    with Sampler.open(file, SamplerSettings(seed=4, spare=0)) as sampler:
        walks = [[one for n in range(6) for one in ids(sampler.draw(6 * walk + n, 100))] for walk in range(2)]
    for walk in walks:
        assert sorted(walk) == sorted(f"t{n}" for n in range(600))
    assert walks[0] != walks[1]


def test_the_ratio_of_bands_is_kept(file: Path):
    chosen = SamplerSettings(seed=1, ratio=Ratio(easy=2, medium=1, hard=1))
    with Sampler.open(file, chosen) as sampler:
        for n in range(5):
            assert Counter(task.band for task in sampler.draw(n, 40)) == {"easy": 20, "medium": 10, "hard": 10}
    with Sampler.open(file, SamplerSettings(ratio=Ratio(easy=0, medium=0))) as sampler:
        assert {task.band for task in sampler.draw(0, 50)} == {"hard"}


@given(shares=st.tuples(*[st.floats(0, 1e6)] * 3).filter(lambda each: sum(each) > 0), total=st.integers(0, 5_000))
def test_a_ratio_adds_up(shares: tuple[float, float, float], total: int):
    counts = Ratio(easy=shares[0], medium=shares[1], hard=shares[2]).counts(total)
    assert sum(counts.values()) == total
    for band, share in zip(counts, shares, strict=True):
        assert abs(counts[band] - share * total / sum(shares)) <= 1


def test_every_website_is_as_likely_as_the_next(file: Path):
    """Thirty small websites and one with half of all tasks: by task it has half of a draw, by website its share."""
    with Sampler.open(file, SamplerSettings(seed=9, by="website", spare=0)) as sampler:
        drawn = [task for n in range(62) for task in sampler.draw(n, 15)]
        seen = Counter(site(task.website) for task in drawn)
        assert len(seen) == 31
        assert min(seen.values()) >= 25  # 30 each on average; 31 websites do not fall into stretches of 15
        assert max(seen.values()) == 31
        big = [task.id for task in drawn if site(task.website) == "big.example"]
        assert len(set(big)) == len(big)  # a website goes through its own tasks before it repeats one
        assert len(set(ids(sampler.draw(0, 90)))) == 90  # more than there are websites: several of each
    with Sampler.open(file, SamplerSettings(seed=9)) as sampler:
        share = Counter(site(task.website) for n in range(4) for task in sampler.draw(n, 100))["big.example"]
        assert 150 < share < 250


def test_dead_and_blocked_websites_are_left_out_of_training_and_replaced(file: Path):
    at = datetime.now(UTC)
    health = Health({"site2.example": Visited(website="https://site2.example", state="dead", at=at)})
    with Sampler.open(file, SamplerSettings(seed=3)) as sampler:
        plain = sampler.draw(0, 200)
        healthy = sampler.draw(0, 200, health=health, blocked={"https://www.site4.example"})
    assert {"site2.example", "site4.example"} <= {site(task.website) for task in plain}
    assert not {"site2.example", "site4.example"} & {site(task.website) for task in healthy}
    assert len(healthy) == 200
    assert len(set(ids(plain)) & set(ids(healthy))) > 150


def test_an_iteration_with_too_little_usable_is_short_and_says_so(file: Path, caplog: pytest.LogCaptureFixture):
    with Sampler.open(file, SamplerSettings(seed=3)) as sampler:
        assert len(sampler.draw(0, 200, blocked=["big.example"])) < 200
        assert len(sampler.draw(0, 10_000)) == 600
    assert "of 200 tasks" in caplog.text


def test_a_test_set_is_walked_whole_and_in_order(file: Path):
    assert [task.id for task in walk_test_set(file)] == [f"t{1_000 + n}" for n in range(40)]


def test_a_file_without_training_tasks_is_refused(tmp_path: Path):
    write_tasks(tmp_path / "t.parquet", [make(1, "https://a.example", 1, "test")])
    with pytest.raises(ConfigError, match="no training task"):
        Sampler.open(tmp_path / "t.parquet", SamplerSettings())


def test_a_ratio_of_nothing_is_refused():
    with pytest.raises(ValueError, match="all 0"):
        Ratio(easy=0, medium=0, hard=0)


def test_drawing_does_not_take_longer_the_later_it_is(file: Path):
    with Sampler.open(file, SamplerSettings(seed=1)) as sampler:
        began = time.monotonic()
        assert len(sampler.rows(10**9, 100)) == 100
        assert time.monotonic() - began < 1
