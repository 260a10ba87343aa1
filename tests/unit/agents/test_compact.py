"""The compact system prompt."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from webgym.agents.dialects import Screen, dialect
from webgym.agents.settings import AgentSettings
from webgym.types import Click

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
