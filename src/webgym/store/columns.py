"""An episode as a table: one row a step, and the episode's own fields on every row.

The table is for people and their tools. The episode's own fields are also in the file's metadata, as JSON and without loss;
the columns that repeat them are written and never read back. An episode without steps has one row whose `step` is null,
because some readers refuse a file without rows. Files of every version so far are read; what an earlier one does not have
gets its default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from webgym.store.arrays import Flag, Real, Record, Row, Text, Whole
from webgym.types import Episode, Step

_TEXT: Final = Text()
_INT: Final = Whole()
_FLOAT: Final = Real()

_PROMPT: Final = Row(Record(role=_TEXT, parts=Row(Record(kind=_TEXT, text=_TEXT, sha256=_TEXT))))
_FIRST_REPLY: Final = MappingProxyType(
    {
        "text": _TEXT,
        "model": _TEXT,
        "finish": _TEXT,
        "prompt_tokens": _INT,
        "completion_tokens": _INT,
        "seconds": _FLOAT,
        "prompt_token_ids": Row(_INT),
        "token_ids": Row(_INT),
        "logprobs": Row(_FLOAT),
    }
)
_REPLY: Final = Record(**_FIRST_REPLY, rebuilt=Flag())

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
    ("unchanged", Flag()),
    ("seconds", _FLOAT),
)
SCHEMA: Final = pa.schema([(name, layout.kind) for name, layout in (*EPISODE_COLUMNS, *STEP_COLUMNS)])
VERSION: Final = 2
SCHEMAS: Final = MappingProxyType(
    {
        1: SCHEMA.set(SCHEMA.get_field_index("reply"), pa.field("reply", Record(**_FIRST_REPLY).kind)),
        VERSION: SCHEMA,
    }
)


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
    arrays = [layout.array([value] * max(1, count)) for value, (_, layout) in zip(shared, EPISODE_COLUMNS, strict=True)]
    columns: tuple[Sequence[object], ...] = (
        [step.index for step in steps],
        [step.screenshot for step in steps],
        [*(step.screenshot for step in steps[1:]), episode.final_screenshot][:count],
        [step.url for step in steps],
        [step.title for step in steps],
        [step.visible for step in steps],
        [step.prompt for step in steps],
        [step.reply for step in steps],
        [None if step.action is None else step.action.kind for step in steps],
        [None if step.action is None else step.action.model_dump_json(exclude={"kind"}) for step in steps],
        [step.invalid for step in steps],
        [step.error for step in steps],
        [step.unchanged for step in steps],
        [step.seconds for step in steps],
    )
    arrays += [layout.array(values or [None]) for values, (_, layout) in zip(columns, STEP_COLUMNS, strict=True)]
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


def _part(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
