"""The rubric judge against a stand-in model behind real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.standin.judge import JudgingModel, picture
from tests.unit.judge.judged import QUICK, Album, judging, make_episode, make_task, settings_for, walk
from webgym.endpoint import EndpointSettings
from webgym.errors import BudgetSpent, EndpointDown, WebGymError
from webgym.judge.models import Meters
from webgym.types import Cancelled, Infra, Scored, SiteError, StepLimit, Unscorable


@pytest.fixture
async def model() -> AsyncIterator[JudgingModel]:
    async with JudgingModel(keep_bodies=True) as running:
        yield running


@pytest.fixture
def album() -> Album:
    return Album()


async def test_a_task_done_is_rewarded_with_the_evidence_for_each_fact(model: JudgingModel, album: Album) -> None:
    episode = make_episode(album.put, walk(15))
    async with judging(settings_for(model), album) as judge:
        judgement = await judge.judge(episode)
    verdict = judgement.verdict
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1
    assert [fact.fact for fact in verdict.facts] == ["fact 1 holds", "fact 2 holds", "fact 3 holds"]
    assert {fact.group for fact in verdict.facts} == {7}
    assert all(fact.screenshots == (episode.final_screenshot,) for fact in verdict.facts)
    assert model.kinds == ["Look", "WholeReply"]
    assert judgement.tokens > 0
    assert judgement.judge == judge.name


async def test_an_unmet_fact_is_no_reward_and_is_named(model: JudgingModel, album: Album) -> None:
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, walk(15, met=False)))).verdict
    assert isinstance(verdict, Scored)
    assert verdict.reward == 0
    assert [fact.met for fact in verdict.facts] == [True, True, False]
    assert verdict.fraction == pytest.approx(2 / 3)


async def test_a_claim_nobody_saw_is_no_reward_although_every_fact_is_met(model: JudgingModel, album: Album) -> None:
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, walk(4), answer="An unseen price of 12."))).verdict
    assert isinstance(verdict, Scored)
    assert (verdict.reward, verdict.fraction) == (0, 1.0)
    assert "something unseen" in verdict.reason


@pytest.mark.parametrize(("answer", "reward"), [("It is Paris.", 1), ("It is Rome.", 0)])
async def test_the_reference_answer_decides_with_the_facts(
    model: JudgingModel, album: Album, answer: str, reward: int
) -> None:
    episode = make_episode(album.put, walk(4), task=make_task(reference="Paris"), answer=answer)
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert isinstance(verdict, Scored)
    assert verdict.reward == reward


async def test_few_screenshots_are_judged_in_one_call(model: JudgingModel, album: Album) -> None:
    async with judging(settings_for(model), album) as judge:
        await judge.judge(make_episode(album.put, walk(5)))
    assert model.kinds == ["WholeReply"]


async def test_key_screenshots_and_the_last_are_read_and_no_others(model: JudgingModel, album: Album) -> None:
    async with judging(settings_for(model), album) as judge:
        await judge.judge(make_episode(album.put, walk(15)))
    texts = [part["text"] for part in model.bodies[1]["messages"][1]["content"] if part["type"] == "text"]
    shown = [int(text.rsplit("Screenshot ", 1)[1].rstrip(":")) for text in texts if "Screenshot " in text]
    assert shown == [1, 4, 7, 10, 13, 16]


@pytest.mark.parametrize("most", [1, 3])
async def test_the_last_screenshot_is_shown_however_few_are(model: JudgingModel, album: Album, most: int) -> None:
    async with judging(settings_for(model, evidence={"most": most}), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, walk(15)))).verdict
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1, "only the last one shows the facts"
    assert len(model.sizes) == 16 + most


async def test_long_walks_are_looked_at_in_even_batches(model: JudgingModel, album: Album) -> None:
    async with judging(settings_for(model, evidence={"batch": 10}), album) as judge:
        await judge.judge(make_episode(album.put, walk(20)))
    assert model.kinds == ["Look", "Look", "Look", "WholeReply"]


async def test_the_first_look_sees_small_pictures_and_the_second_whole_ones(model: JudgingModel, album: Album) -> None:
    pictures = [picture(words=f"{n}", relevance=2, size=(640, 400)) for n in range(9)]
    pictures.append(picture(shows=(1, 2, 3), size=(640, 400)))
    settings = settings_for(model, evidence={"look_width": 160, "tolerance": 0})
    async with judging(settings, album) as judge:
        await judge.judge(make_episode(album.put, pictures))
    assert model.sizes == [(160, 100)] * 10 + [(640, 400)]


async def test_criteria_apart_are_claims_then_facts_one_by_one_until_one_fails(model: JudgingModel, album: Album) -> None:
    episode = make_episode(album.put, [*walk(2)[:-1], picture(shows=(1, 3), words="end")])
    settings = settings_for(model, joined=False, facts_per_call=1)
    async with judging(settings, album) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert model.kinds == ["ClaimsReply", "FactsReply", "FactsReply"]
    assert isinstance(verdict, Scored)
    assert [fact.met for fact in verdict.facts] == [True, False]


async def test_partial_credit_wants_every_fact(model: JudgingModel, album: Album) -> None:
    episode = make_episode(album.put, [*walk(2)[:-1], picture(shows=(1, 3), words="end")], answer="")
    settings = settings_for(model, joined=False, facts_per_call=1, early_exit=False)
    async with judging(settings, album) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert isinstance(verdict, Scored)
    assert (verdict.reward, verdict.fraction) == (0, pytest.approx(2 / 3))
    assert model.kinds == ["FactsReply"] * 3


async def test_many_facts_are_spread_over_calls(model: JudgingModel, album: Album) -> None:
    episode = make_episode(album.put, walk(2, facts=13), task=make_task(13))
    async with judging(settings_for(model, facts_per_call=5), album) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert model.kinds == ["WholeReply", "FactsReply", "FactsReply"]
    assert isinstance(verdict, Scored)
    assert (verdict.reward, len(verdict.facts)) == (1, 13)


async def test_a_task_with_a_reference_and_no_facts_is_judged_by_it(model: JudgingModel, album: Album) -> None:
    episode = make_episode(album.put, walk(2), task=make_task(0, reference="12 euros"))
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert model.kinds == ["ClaimsReply"]
    assert verdict == Scored(reward=1)


@pytest.mark.parametrize(
    "outcome", [SiteError(reason="down"), Infra(reason="died"), Cancelled(reason="shutdown")], ids=lambda one: one.kind
)
async def test_an_episode_that_says_nothing_of_the_agent_is_never_scored(
    model: JudgingModel, album: Album, outcome: Infra
) -> None:
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, walk(5), outcome=outcome))).verdict
    assert isinstance(verdict, Unscorable)
    assert not model.kinds


async def test_a_step_limit_without_an_answer_is_zero_without_a_call(model: JudgingModel, album: Album) -> None:
    episode = make_episode(album.put, walk(5), answer=None, outcome=StepLimit(limit=5))
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert verdict == Scored(reward=0, reason="the agent gave no answer")
    assert not model.kinds


@pytest.mark.parametrize("early_exit", [True, False])
@pytest.mark.parametrize("refused", [True, False])
async def test_no_answer_on_what_may_be_a_refusal_is_looked_at_first(
    model: JudgingModel, album: Album, refused: bool, early_exit: bool
) -> None:
    """The title of a challenge and no more: the rollout went on, and the agent gave up."""
    pictures = [*walk(4), picture(challenge=refused)]
    episode = make_episode(album.put, pictures, title="Just a moment...", answer=None, outcome=StepLimit(limit=5))
    episode = episode.model_copy(update={"final_url": episode.steps[-1].url})
    async with judging(settings_for(model, early_exit=early_exit), album) as judge:
        verdict = (await judge.judge(episode)).verdict
    if refused:
        assert model.kinds == ["Look"]
        assert isinstance(verdict, Unscorable)
        assert verdict.reason.startswith("blocked: ")
    else:
        assert model.kinds == (["Look"] if early_exit else ["Look", "FactsReply"])
        assert isinstance(verdict, Scored)
        assert (verdict.reward, verdict.reason) == (0, "the agent gave no answer")
        assert len(verdict.facts) == (0 if early_exit else 3)


@pytest.mark.parametrize("steps", [3, 12])
async def test_a_website_that_refused_is_listed_and_not_scored(model: JudgingModel, album: Album, steps: int) -> None:
    listed: list[tuple[str, str, float]] = []
    episode = make_episode(album.put, [*walk(steps)[:-1], picture(challenge=True, shows=(1, 2, 3))])
    async with judging(settings_for(model), album, blocked=lambda *told: listed.append(told)) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert isinstance(verdict, Unscorable)
    assert verdict.reason.startswith("blocked: ")
    assert [(website, ended) for website, _, ended in listed] == [("https://shop.example", episode.ended)]
    assert len(model.kinds) == 1


async def test_a_refusal_told_by_its_title_costs_no_call(model: JudgingModel, album: Album) -> None:
    listed: list[str] = []
    episode = make_episode(album.put, walk(3), title="Just a moment...").model_copy(
        update={"final_url": "https://shop.example/cdn-cgi/challenge-platform/h/b"}
    )
    async with judging(settings_for(model), album, blocked=lambda website, *_: listed.append(website)) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert isinstance(verdict, Unscorable)
    assert listed
    assert not model.kinds


async def test_a_website_is_not_listed_for_what_another_refused(model: JudgingModel, album: Album) -> None:
    listed: list[str] = []
    episode = make_episode(album.put, walk(3), title="Just a moment...").model_copy(
        update={"final_url": "https://elsewhere.example/cdn-cgi/challenge-platform/h/b"}
    )
    async with judging(settings_for(model), album, blocked=lambda website, *_: listed.append(website)) as judge:
        verdict = (await judge.judge(episode)).verdict
    assert isinstance(verdict, Unscorable)
    assert not listed


async def test_a_challenge_on_the_way_blocks_nothing(model: JudgingModel, album: Album) -> None:
    pictures = walk(30)
    pictures[2] = picture(challenge=True, words="are you human?")
    async with judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, pictures))).verdict
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1


async def test_a_missing_or_broken_screenshot_is_unscorable(model: JudgingModel, album: Album) -> None:
    told: list[WebGymError] = []
    episode = make_episode(album.put, walk(4))
    async with judging(settings_for(model), album, trouble=told.append) as judge:
        album.kept[episode.steps[1].screenshot or ""] = b"\xff\xd8\xff not a picture"
        first = (await judge.judge(episode)).verdict
        del album.kept[episode.steps[1].screenshot or ""]
        second = (await judge.judge(episode)).verdict
    assert isinstance(first, Unscorable)
    assert isinstance(second, Unscorable)
    assert [type(one).__name__ for one in told] == ["Damaged", "StoreError"]


async def test_a_sure_small_model_decides_and_an_unsure_one_asks_the_large(album: Album) -> None:
    async with JudgingModel() as large, JudgingModel() as small:
        cascade = {"endpoint": {"url": small.url, "model": "small", **QUICK}}
        settings = settings_for(large, cascade=cascade)
        async with judging(settings, album) as judge:
            await judge.judge(make_episode(album.put, walk(15)))
            assert (small.kinds, large.kinds) == (["Look", "WholeReply"], [])
            small.confidence = 90
            await judge.judge(make_episode(album.put, walk(15, marked="again")))
            assert large.kinds == ["WholeReply"], "90 is not enough for a reward"
            await judge.judge(make_episode(album.put, walk(15, met=False)))
            assert large.kinds == ["WholeReply"], "and it is enough to refuse one"
            small.mangle = lambda kind, good: "no idea"
            verdict = (await judge.judge(make_episode(album.put, walk(3)))).verdict
            assert large.kinds == ["WholeReply", "WholeReply"], "who cannot say it asks"
            assert isinstance(verdict, Scored)
            await small.die()
            await judge.judge(make_episode(album.put, walk(3, marked="once more")))
            assert len(large.kinds) == 3
        await small.revive()


async def test_stages_may_have_models_of_their_own(album: Album) -> None:
    async with JudgingModel() as large, JudgingModel() as look, JudgingModel() as facts:
        more = {name: {"url": one.url, "model": name, **QUICK} for name, one in {"look": look, "facts": facts}.items()}
        async with judging(settings_for(large, joined=False, **more), album) as judge:
            await judge.judge(make_episode(album.put, walk(15)))
    assert (look.kinds, large.kinds, facts.kinds) == (["Look"], ["ClaimsReply"], ["FactsReply"])
    assert judge.name.startswith("rubric large+look+facts prompts:")


async def test_judging_again_with_a_warm_cache_makes_no_call(model: JudgingModel, album: Album, tmp_path: Path) -> None:
    episode = make_episode(album.put, walk(15))
    settings = settings_for(model, endpoint={"cache": tmp_path})
    verdicts = []
    for _ in range(2):
        async with judging(settings, album) as judge:
            verdicts.append(await judge.judge(episode))
    assert len(model.kinds) == 2
    assert verdicts[0].verdict == verdicts[1].verdict
    assert verdicts[1].tokens == 0


async def test_what_is_priced_is_metered_by_episode_and_in_all(model: JudgingModel, album: Album) -> None:
    endpoint = {"prices": {"large": {"input": 2.0, "output": 8.0}}}
    async with judging(settings_for(model, endpoint=endpoint), album) as judge:
        each = [await judge.judge(make_episode(album.put, walk(9, marked=str(n)))) for n in range(3)]
        assert judge.models.spent().dollars == pytest.approx(sum(one.dollars for one in each))
        assert judge.models.spent().tokens == sum(one.tokens for one in each)
    assert each[0].dollars > 0


async def test_a_judge_that_is_opened_again_with_its_meters_has_no_new_budget(
    model: JudgingModel, album: Album, tmp_path: Path
) -> None:
    priced = {"prices": {"large": {"input": 1e6, "output": 0.0}}, "budget": 9_000.0}  # enough for one question
    meters, told = Meters(), list[WebGymError]()
    for n in range(2):
        settings = settings_for(model, endpoint=priced | {"cache": tmp_path / str(n)})  # each run stores its own replies
        async with judging(settings, album, meters=meters, trouble=told.append) as judge:
            await judge.judge(make_episode(album.put, walk(2, marked=str(n))))
    assert [type(one) for one in told] == [BudgetSpent]
    assert len(model.kinds) == 1
    async with judging(settings, album, trouble=told.append) as judge:
        assert judge.models.spent().dollars == 0.0, "without meters of before the budget is new"


def test_models_that_differ_in_address_name_price_or_budget_are_metered_apart():
    given: dict[str, Any] = {"model": "large", "prices": {"large": {"input": 1.0, "output": 1.0}}, "budget": 1.0}
    changes: list[dict[str, Any]] = [
        {"url": "http://elsewhere.example/v1"},
        {"model": "small", "budget": None},
        {"prices": {"large": {"input": 1.0, "output": 2.0}}},
        {"budget": 5.0},
    ]
    meters, one = Meters(), EndpointSettings.model_validate(given)
    assert meters.of(one) is meters.of(EndpointSettings.model_validate(given | {"concurrency": 3}))
    others = [EndpointSettings.model_validate(given | change) for change in changes]
    assert len({id(meters.of(endpoint)) for endpoint in (one, *others)}) == 5


async def test_a_meter_that_two_stages_share_is_read_once(model: JudgingModel, album: Album) -> None:
    endpoint = {"url": model.url, "model": "large", "prices": {"large": {"input": 2.0, "output": 8.0}}}
    async with judging(settings_for(model, endpoint=endpoint, look=endpoint), album) as judge:
        judgement = await judge.judge(make_episode(album.put, walk(9)))
        assert judge.models.spent().dollars == pytest.approx(judgement.dollars)
    assert model.kinds == ["Look", "WholeReply"]


async def test_an_unusable_reply_is_paid_for_and_unscorable(model: JudgingModel, album: Album) -> None:
    model.mangle = lambda kind, good: "It went well!"
    told: list[WebGymError] = []
    async with judging(settings_for(model), album, trouble=told.append) as judge:
        judgement = await judge.judge(make_episode(album.put, walk(3)))
    assert isinstance(judgement.verdict, Unscorable)
    assert judgement.verdict.reason.startswith("UnusableReply: ")
    assert judgement.tokens > 0
    assert model.kinds == ["WholeReply"] * 2, "asked once more, and not again"
    assert not isinstance(told[0], EndpointDown)
