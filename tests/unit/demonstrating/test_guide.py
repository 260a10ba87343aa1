"""The guide, and the teacher that speaks for it."""

from __future__ import annotations

import hashlib

import pytest

from webgym.agents.settings import AgentSettings
from webgym.demonstrating.guide import Goal, advise
from webgym.demonstrating.teacher import Demonstrators
from webgym.errors import ConfigError
from webgym.types import Answer, Box, Click, Mark, Observation, Screenshot, Scroll, ScrollPosition, Settled
from webgym.worlds.families import opening
from webgym.worlds.tasks import TaskId, make

GOAL = Goal("/shelters", "shelters", frozenset({"adopt", "advice"}))
TASK = next(opening(0, "demonstrations", 1, ["adoption"], port=8090))
SETTINGS = AgentSettings.model_validate(
    {"dialect": "qwen3_vl_marks", "memory": False, "compact": True, "context": {"window": 0, "token_budget": 2048}}
)


def seen(*elements: str, path: str = "/", title: str = "Home") -> Observation:
    """A page with these elements, such as "button Menu"."""
    picture = f"{path} {elements}".encode()
    marks = tuple(
        Mark(id=number, role=role, name=name, box=Box(x=0, y=0, width=9, height=9))
        for number, (role, _, name) in enumerate((element.partition(" ") for element in elements), 1)
    )
    shot = Screenshot(format="jpeg", width=224, height=160, sha256=hashlib.sha256(picture).hexdigest(), data=picture)
    return Observation(
        screenshot=shot,
        unchanged=False,
        url=f"http://a.localhost:8090{path}",
        title=title,
        scroll=ScrollPosition(x=0, y=0, width=224, height=900),
        tabs=(),
        settled=Settled(ms=1),
        marks=marks,
    )


@pytest.mark.parametrize(
    ("page", "action"),
    [
        (seen("link Brand", "button Menu"), Click(element=2)),
        (seen("link Brand", "button Menu", "button Accept all"), Click(element=3)),
        (seen("button Menu", "link Adopt", "link Shelters"), Click(element=3)),
        (seen("button Menu", "button Shelters", "link Adopt"), Scroll(dy=100)),
        (seen("button Menu", "link Shelters near you"), Click(element=1)),
        (seen("link Somewhere"), Scroll(dy=-1000)),
        (seen("link Shelters", path="/shelters"), Answer(text="Done")),
    ],
)
def test_what_to_do_follows_from_the_page(page, action):
    assert advise(GOAL, page) == action


def test_a_goal_is_read_from_the_task_and_knows_the_rest_of_the_menu():
    goal = Goal.of(TASK)
    assert f'"{goal.name}"' in TASK.instruction.casefold()
    assert goal.name not in goal.others
    assert len(goal.others) >= 2


def test_a_task_that_opens_no_page_cannot_be_guided():
    host = TASK.website.removeprefix("http://").partition(":")[0]
    other = make(TaskId(0, (host,), "lookup", (1,), 0)).task()
    with pytest.raises(ConfigError, match="only tasks that open a page"):
        Goal.of(other)


async def test_the_teacher_keeps_what_a_model_agent_would():
    agent, goal = Demonstrators(SETTINGS)(TASK, "0" * 32), Goal.of(TASK)
    assert agent.look.marks
    first = await agent.decide(seen("link Brand", "button Menu"))
    assert first.action == Click(element=2)
    assert first.reply is not None
    assert '"element_id": 2' in first.reply.text
    second = await agent.decide(seen("button Menu", f"link {goal.name}"))
    told = second.prompt[-1].parts[0]
    assert told.kind == "text"
    assert "click element 2 → page changed" in told.text
    assert f'[2] link "{goal.name}"' in told.text
    assert second.action == Click(element=2)
    third = await agent.decide(seen("link Brand", path=goal.path))
    assert third.action == Answer(text="Done")
    await agent.close()
