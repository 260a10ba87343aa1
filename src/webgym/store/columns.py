"""An episode as a table: one row a step, and the episode's own fields on every row.

The table is for people and their tools. The episode's own fields are also in the file's metadata, as JSON and without loss;
the columns that repeat them are written and never read back. An episode without steps has one row whose `step` is null,
because some readers refuse a file without rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from webgym.types import Episode, Reply, Step, Turn

_TEXT: Final = pa.string()
_INT: Final = pa.int64()
_FLOAT: Final = pa.float64()

_PART: Final = pa.struct([("kind", _TEXT), ("text", _TEXT), ("sha256", _TEXT)])
_TURN: Final = pa.struct([("role", _TEXT), ("parts", pa.list_(pa.field("element", _PART)))])
_PROMPT: Final = pa.list_(pa.field("element", _TURN))
_REPLY: Final = pa.struct(
    [
        ("text", _TEXT),
        ("model", _TEXT),
        ("finish", _TEXT),
        ("prompt_tokens", _INT),
        ("completion_tokens", _INT),
        ("seconds", _FLOAT),
        ("prompt_token_ids", pa.list_(pa.field("element", _INT))),
        ("token_ids", pa.list_(pa.field("element", _INT))),
        ("logprobs", pa.list_(pa.field("element", _FLOAT))),
    ]
)

EPISODE_COLUMNS: Final = (
    ("episode", _TEXT),
    ("run", _TEXT),
    ("iteration", _INT),
    ("replica", _INT),
    ("attempt", _INT),
    ("task", _TEXT),
    ("source", _TEXT),
    ("split", _TEXT),
    ("website", _TEXT),
    ("domain", _TEXT),
    ("subdomain", _TEXT),
    ("difficulty", _INT),
    ("instruction", _TEXT),
    ("agent", _TEXT),
    ("width", _INT),
    ("height", _INT),
    ("outcome", _TEXT),
    ("answer", _TEXT),
    ("steps", _INT),
    ("started", _FLOAT),
    ("ended", _FLOAT),
)
STEP_COLUMNS: Final = (
    ("step", _INT),
    ("screenshot", _TEXT),
    ("next_screenshot", _TEXT),
    ("url", _TEXT),
    ("title", _TEXT),
    ("visible", _TEXT),
    ("prompt", _PROMPT),
    ("reply", _REPLY),
    ("action", _TEXT),
    ("arguments", _TEXT),
    ("invalid", _TEXT),
    ("error", _TEXT),
    ("unchanged", pa.bool_()),
    ("seconds", _FLOAT),
)
SCHEMA: Final = pa.schema([*EPISODE_COLUMNS, *STEP_COLUMNS])


def to_table(episode: Episode) -> pa.Table:
    """The steps of an episode, with its own fields repeated on each."""
    count = len(episode.steps)
    task, steps = episode.task, episode.steps
    shared: tuple[object, ...] = (
        episode.id,
        episode.run,
        episode.iteration,
        episode.replica,
        episode.attempt,
        task.id,
        task.source,
        task.split,
        task.website,
        task.domain,
        task.subdomain,
        task.difficulty,
        task.instruction,
        episode.agent,
        episode.width,
        episode.height,
        episode.outcome.kind,
        episode.answer,
        count,
        episode.started,
        episode.ended,
    )
    arrays = [
        pa.repeat(pa.scalar(value, kind), max(1, count)) for value, (_, kind) in zip(shared, EPISODE_COLUMNS, strict=True)
    ]
    columns: tuple[Sequence[object], ...] = (
        [step.index for step in steps],
        [step.screenshot for step in steps],
        [*(step.screenshot for step in steps[1:]), episode.final_screenshot][:count],
        [step.url for step in steps],
        [step.title for step in steps],
        [step.visible for step in steps],
        [[_turn(turn) for turn in step.prompt] for step in steps],
        [None if step.reply is None else _reply(step.reply) for step in steps],
        [None if step.action is None else step.action.kind for step in steps],
        [None if step.action is None else step.action.model_dump_json(exclude={"kind"}) for step in steps],
        [step.invalid for step in steps],
        [step.error for step in steps],
        [step.unchanged for step in steps],
        [step.seconds for step in steps],
    )
    arrays += [pa.array(values or [None], kind) for values, (_, kind) in zip(columns, STEP_COLUMNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def step_values(table: pa.Table) -> Iterator[dict[str, object]]:
    """The steps of a table as plain values, for `Step` to check."""
    plain = [name for name in Step.model_fields if name not in ("index", "action", "prompt", "reply")]
    names = ["step", "action", "arguments", "prompt", "reply", *plain]
    for index, kind, arguments, prompt, reply, *rest in zip(*(table.column(n).to_pylist() for n in names), strict=True):
        if index is None:
            continue
        yield {
            "index": index,
            "action": None if kind is None else {"kind": kind, **json.loads(arguments)},
            "prompt": [{"role": turn["role"], "parts": [_part(part) for part in turn["parts"]]} for turn in prompt],
            "reply": reply,
            **dict(zip(plain, rest, strict=True)),
        }


def _turn(turn: Turn) -> dict[str, object]:
    return {
        "role": turn.role,
        "parts": [
            {"kind": "text", "text": part.text} if part.kind == "text" else {"kind": "image", "sha256": part.sha256}
            for part in turn.parts
        ],
    }


def _part(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _reply(reply: Reply) -> dict[str, object]:
    return {name: getattr(reply, name) for name in Reply.model_fields}
