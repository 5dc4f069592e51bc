"""The demo's texts and tables, at most 100 columns wide, made from the API's answers."""

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
    """A plan on one line."""
    batch, micro = values["batch_size"], values["micro_batch"]
    pieces = "" if micro == batch else f" in micro-batches of {micro}"
    height, width = values["image_size"]
    return f"{values['model']}, {height}x{width}, batch {batch}{pieces}, {values['precision']}, {values['steps']} steps"


def progress(job: Json, attempts: Sequence[Json], elapsed_s: float) -> str:
    """The state of a job on one line."""
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
    """What was changed before each attempt, and why. Before the first one only if `first`, its heading, is given."""
    lines = []
    for attempt in attempts:
        heading = first if attempt is attempts[0] else f"Before attempt {attempt['number']}:"
        if heading is None:
            continue
        lines.append(heading)
        for change in attempt["changes"]:
            lines.append(f"  {change['field']} {change['before']} -> {change['after']}: {change['reason']}")
        if not attempt["changes"]:
            lines.append(f"  {attempt['summary'] or 'nothing changed'}")
    return "\n".join(wrapped(line) for line in lines)


def prediction(attempt: Json) -> str:
    """The predicted and the measured memory, and the error of the prediction."""
    predicted = attempt["predicted"]
    if predicted is None:
        return "nothing was predicted"
    text = f"predicted {memory(predicted['bytes'])}"
    text += f" ({memory(predicted['low_bytes'])} to {memory(predicted['high_bytes'])})"
    measured = max(attempt["measured_peak_bytes"] or 0, attempt["measured_evaluation_peak_bytes"] or 0) or None
    text += f", measured {memory(measured)}"
    error = attempt["prediction_error"]
    if error is None:
        return text
    return f"{text}: {abs(error):.1%} too {'high' if error > 0 else 'low'}"


def diff_table(changes: Iterable[Json]) -> str:
    """The changes of the pipeline.config that a lever made. Other changes are only counted."""
    by_lever, others = [], 0
    for change in changes:
        if change["lever"] is None:
            others += 1
        else:
            by_lever.append([change["field"], _value(change["before"]), _value(change["after"]), change["lever"]])
    text = table(["field", "before", "after", "lever"], by_lever, [48, 16, 16, 12])
    return text + (f"\n(and {others} fields that follow from these or from the host)" if others else "")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> str:
    """Columns of these widths, two spaces apart. Longer text is wrapped inside its cell."""
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
    """One paragraph. All lines but the first are indented by two more spaces."""
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.fill(text, WIDTH, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def _measured(attempt: Json) -> str:
    """The peak. For an attempt that ran out of memory: what it held, plus the request that failed."""
    peak = attempt["measured_peak_bytes"]
    if attempt["diagnosis"] != "too_large" or peak is None:
        return memory(peak)
    requested = ((attempt["evidence"] or {}).get("allocator") or {}).get("requested")
    return f"{memory(peak)} + {memory(requested)}" if requested else f"over {memory(peak)}"


def _outcome(attempt: Json) -> str:
    diagnosis = attempt["diagnosis"] or attempt["phase"] or "starting"
    text = _OUTCOMES.get(diagnosis, diagnosis.replace("_", " "))
    if attempt["ended_at"] is None:
        return text
    return f"{text} ({duration(_seconds(attempt['started_at'], attempt['ended_at']))})"


def _seconds(start: str, end: str) -> float:
    return (datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(start)).total_seconds()


def _value(text: str | None) -> str:
    return "(not set)" if text is None else text
