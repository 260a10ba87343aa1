"""The rule of decomposition, and children as the model words them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.standin.server import StandIn
from webgym.endpoint import Endpoint, EndpointSettings
from webgym.endpoint.settings import Price, Sampling
from webgym.errors import BudgetSpent, EndpointDown
from webgym.tasks.decompose import DecomposeSettings, Reading, child_id, children, decompose, is_eligible, subsets
from webgym.tasks.rubric import Quarantined
from webgym.types import FactGroup, Provenance, Task

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=8)
READINGS = st.sampled_from(["with_a_large_group", "large_groups_only"])


def a_task(*sizes: int, **changes: object) -> Task:
    groups = tuple(
        FactGroup(id=n, description=f"Group {n}", facts=tuple(f"Fact {n}.{m}" for m in range(size)))
        for n, size in enumerate(sizes, 1)
    )
    task = Task(
        id="t/1",
        source="s",
        instruction="Find this and that.",
        website="https://example.com",
        domain="Misc.",
        subdomain="News",
        groups=groups,
        reference_answer="42",
        provenance=Provenance(rubric_version="rubric.1", licence="MIT"),
    )
    return task.model_copy(update=changes)


def stored_in(folder: Path) -> int:
    return len(list(folder.rglob("*.json")))


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    async with StandIn() as running:
        yield running


@pytest.mark.parametrize(
    ("sizes", "count", "strictly"),
    [((3, 1), 1, 1), ((3, 3), 2, 2), ((3, 1, 1), 3, 1), ((4, 3, 2), 5, 3), ((3,), 0, 0), ((2, 2), 0, 0), ((9, 1), 1, 1)],
)
def test_the_known_sizes_give_the_known_counts(sizes: tuple[int, ...], count: int, strictly: int) -> None:
    assert len(list(subsets(sizes))) == count
    assert len(list(subsets(sizes, "large_groups_only"))) == strictly


@given(SIZES, READINGS)
def test_children_are_exactly_the_subsets_the_rule_names(sizes: list[int], reading: Reading) -> None:
    found = list(subsets(sizes, reading))
    every = [chosen for count in range(1, len(sizes)) for chosen in combinations(range(len(sizes)), count)]
    if reading == "with_a_large_group":
        expected = [chosen for chosen in every if any(sizes[place] >= 3 for place in chosen)]
    else:
        expected = [chosen for chosen in every if all(sizes[place] >= 3 for place in chosen)]
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)
    assert bool(found) == is_eligible(sizes)
    assert [len(chosen) for chosen in found] == sorted(len(chosen) for chosen in found)


@given(SIZES)
def test_the_strict_reading_is_a_part_of_the_other(sizes: list[int]) -> None:
    assert set(subsets(sizes, "large_groups_only")) <= set(subsets(sizes))


def test_many_groups_do_not_explode() -> None:
    task = a_task(*[3] * 39)
    assert len(children(task, DecomposeSettings(max_children=100))) == 100


def test_a_child_is_not_taken_apart_again_and_the_rule_can_be_off() -> None:
    assert children(a_task(4, 3, 2, parent_id="t/0"), DecomposeSettings()) == []
    assert children(a_task(4, 3, 2), DecomposeSettings(enabled=False)) == []


def test_ids_name_the_groups_and_stay_short() -> None:
    assert child_id(a_task(4, 3, 2), (0, 2)) == "t/1~1.3"
    long = a_task(4, 3, 2, id="x" * 200)
    names = {child_id(long, places) for places in subsets((4, 3, 2))}
    assert len(names) == 5
    assert all(len(name) <= 200 for name in names)


async def test_children_get_words_of_their_own_and_name_their_parent(server: StandIn) -> None:
    parent = a_task(4, 3, 2)
    async with Endpoint(EndpointSettings(url=server.url)) as model:
        found = await decompose(parent, DecomposeSettings(), model)
    assert [child.id for child in found] == ["t/1~1", "t/1~2", "t/1~1.2", "t/1~1.3", "t/1~2.3"]
    for child in found:
        assert isinstance(child, Task)
        assert child.parent_id == parent.id
        assert child.reference_answer is None
        assert child.provenance.rubric_version == "rubric.1+child.1"
        assert child.provenance.licence == "MIT"
        assert child.difficulty < parent.difficulty
    assert len({child.instruction for child in found if isinstance(child, Task)}) == 5


async def test_a_child_that_asks_for_everything_is_refused(server: StandIn) -> None:
    parent = a_task(3, 1)
    server.script = ['{"instruction": "find  this and THAT."}', '{"instruction": " "}']
    async with Endpoint(EndpointSettings(url=server.url)) as model:
        (found,) = await decompose(parent, DecomposeSettings(), model)
    assert isinstance(found, Quarantined)
    assert (found.id, found.stage, found.fault) == ("t/1~1", "child", "content")


async def test_what_is_under_way_when_the_budget_ends_is_still_stored(server: StandIn, tmp_path: Path) -> None:
    server.latency = 0.05
    prices = {"m": Price(input=0, output=1_000_000)}
    sampling = Sampling(max_tokens=1000)
    settings = EndpointSettings(url=server.url, model="m", prices=prices, budget=3500, cache=tmp_path, sampling=sampling)
    async with Endpoint(settings) as model:
        with pytest.raises(BudgetSpent):
            await decompose(a_task(4, 3, 2), DecomposeSettings(), model)
        assert len(server.arrivals) == model.meter.totals.calls == stored_in(tmp_path) == 3


async def test_a_failing_endpoint_is_no_childs_fault() -> None:
    async with Endpoint(EndpointSettings(url="http://127.0.0.1:1/v1", tries=1)) as model:
        with pytest.raises(EndpointDown):
            await asyncio.wait_for(decompose(a_task(4, 3, 2), DecomposeSettings(), model), 5)
