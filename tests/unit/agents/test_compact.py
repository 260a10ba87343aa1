"""The compact system prompt."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from webgym.agents.context import Context, describe_page, take
from webgym.agents.dialects import Screen, dialect
from webgym.agents.settings import AgentSettings, ContextSettings
from webgym.types import Click, Observation, Screenshot, ScrollPosition, Settled

SCREEN = Screen(224, 160, frozenset({1, 2}))


def test_it_is_a_tenth_of_the_usual_one_and_its_example_is_read():
    full, compact = (dialect("qwen3_vl_marks", memory=False, compact=flag) for flag in (False, True))
    assert len(compact.system(SCREEN)) * 8 < len(full.system(SCREEN))
    example = compact.system(SCREEN).partition(":\n")[2].rpartition("\n")[0]
    assert compact.read(example, SCREEN) == Click(element=1)


@pytest.mark.parametrize("other", [{"dialect": "qwen3_vl"}, {"memory": True}, {"thinking": True}])
def test_where_there_is_none_it_is_refused_with_the_reason(other):
    fitting = {"dialect": "qwen3_vl_marks", "memory": False, "compact": True}
    assert AgentSettings.model_validate(fitting).compact
    with pytest.raises(ValidationError, match="compact needs dialect qwen3_vl_marks"):
        AgentSettings.model_validate(fitting | other)


def test_addresses_can_be_left_out_of_a_prompt():
    shot = Screenshot(format="jpeg", width=224, height=160, sha256="0" * 64, data=b"picture")
    seen = Observation(
        screenshot=shot, unchanged=False, url="http://oak-bank.localhost/rates", title="Rates", tabs=(), marks=(),
        scroll=ScrollPosition(x=0, y=0, width=1, height=1), settled=Settled(ms=1),
    )  # fmt: skip
    weighed = take(seen, None)
    assert weighed is not None
    for told in (True, False):
        context = Context("Open it.", "http://oak-bank.localhost", ContextSettings(addresses=told))
        prompt = context.prompt("system", seen, weighed).said[-1].words
        assert ("oak-bank" in prompt) is told
        assert ("oak-bank" in describe_page(seen, addresses=told)) is told
        assert "Page: Rates" in prompt
