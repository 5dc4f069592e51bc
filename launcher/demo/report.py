"""The demo's words and tables, as text of at most 100 columns. Pure: takes what the API answered."""

import datetime
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from services.domain.sizes import in_mb

__all__ = [
    "attempts_table",
    "changes",
    "diff_table",
    "duration",
    "memory",
    "plan",
    "prediction",
    "progress",
    "table",
    "wrapped",
]

WIDTH = 100
Json = Mapping[str, Any]

_OUTCOMES = {"completed": "completed", "too_large": "out of memory: too large for the device"}


def memory(count: int | None) -> str:
    return "-" if count is None else in_mb(count)


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if seconds >= 100 else f"{round(seconds)} s"


def plan(values: Json) -> str:
    """A plan in one phrase."""
    batch, micro = values["batch_size"], values["micro_batch"]
    pieces = "" if micro == batch else f" in micro-batches of {micro}"
    height, width = values["image_size"]
    return f"{values['model']}, {height}x{width}, batch {batch}{pieces}, {values['precision']}, {values['steps']} steps"


def progress(job: Json, attempts: Sequence[Json], elapsed_s: float) -> str:
    """Where a job is, on one line."""
    current = attempts[-1] if attempts else None
    if job["state"] == "running" and current and not current["ended_at"]:
        phase = current["phase"] or "starting"
        steps = f", step {current['step']}/{job['progress']['steps']}" if phase == "training" else ""
        return f"attempt {current['number']}: {phase}{steps}, {duration(elapsed_s)}"
    return f"{job['state']}, {duration(elapsed_s)}"


def attempts_table(attempts: Iterable[Json]) -> str:
    rows = [
        [
            str(attempt["number"]),
            plan(attempt["plan"]),
            memory((attempt["predicted"] or {}).get("bytes")),
            _measured(attempt),
            memory(attempt["limit_bytes"]),
            _outcome(attempt),
        ]
        for attempt in attempts
    ]
    return table(["#", "plan", "predicted", "measured", "limit", "outcome"], rows, [2, 31, 9, 17, 7, 24])


def changes(attempts: Sequence[Json], first: str | None = None) -> str:
    """What was changed before each attempt, and why; before the first one only under a heading of its own."""
    said = []
    for attempt in attempts:
        heading = first if attempt is attempts[0] else f"Before attempt {attempt['number']}:"
        if heading is None:
            continue
        said.append(heading)
        for change in attempt["changes"]:
            said.append(f"  {change['field']} {change['before']} -> {change['after']}: {change['reason']}")
        if not attempt["changes"]:
            said.append(f"  {attempt['summary'] or 'nothing changed'}")
    return "\n".join(wrapped(line) for line in said)


def prediction(attempt: Json) -> str:
    """What was predicted beside what was measured, and how far off it was."""
    predicted = attempt["predicted"]
    if predicted is None:
        return "nothing was predicted"
    words = f"predicted {memory(predicted['bytes'])}"
    words += f" ({memory(predicted['low_bytes'])} to {memory(predicted['high_bytes'])})"
    measured = max(attempt["measured_peak_bytes"] or 0, attempt["measured_evaluation_peak_bytes"] or 0) or None
    words += f", measured {memory(measured)}"
    error = attempt["prediction_error"]
    if error is None:
        return words
    return f"{words}: {abs(error):.1%} too {'high' if error > 0 else 'low'}"


def diff_table(changes: Iterable[Json]) -> str:
    """The changes of the pipeline.config that somebody decided; those that merely follow from them are counted."""
    decided, follow = [], 0
    for change in changes:
        if change["lever"] is None:
            follow += 1
        else:
            decided.append([change["field"], _value(change["before"]), _value(change["after"]), change["lever"]])
    text = table(["field", "before", "after", "lever"], decided, [48, 16, 16, 12])
    return text + (f"\n(and {follow} fields that follow from these or from the host)" if follow else "")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    """Columns of these widths, two spaces apart; what is longer is wrapped inside its cell."""
    lines = [*_row(header, widths), "  ".join("-" * width for width in widths)]
    for row in rows:
        lines += _row(row, widths)
    return "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, columns))
    padded = [column + [""] * (height - len(column)) for column in columns]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*padded, strict=True)
    ]


def wrapped(text: str) -> str:
    """One paragraph; its further lines stand in by two more."""
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.fill(text, WIDTH, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def _measured(attempt: Json) -> str:
    """The peak; of an attempt that ran out, what it held when it asked for more."""
    peak = attempt["measured_peak_bytes"]
    if attempt["diagnosis"] != "too_large" or peak is None:
        return memory(peak)
    requested = ((attempt["evidence"] or {}).get("allocator") or {}).get("requested")
    return f"{memory(peak)} + {memory(requested)}" if requested else f"over {memory(peak)}"


def _outcome(attempt: Json) -> str:
    diagnosis = attempt["diagnosis"] or attempt["phase"] or "starting"
    words = _OUTCOMES.get(diagnosis, diagnosis.replace("_", " "))
    if attempt["ended_at"] is None:
        return words
    return f"{words} ({duration(_seconds(attempt['started_at'], attempt['ended_at']))})"


def _seconds(start: str, end: str) -> float:
    return (datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(start)).total_seconds()


def _value(text: str | None) -> str:
    return "(not set)" if text is None else text
