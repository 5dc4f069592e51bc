"""Store a trainer's reports (`events.jsonl`) as rows: series of metrics, events of the job, and its progress.

No content of the file stops the reading. A line that is not an event, or that the database refuses, is skipped and
reported in a warning. Lines are read in batches. The position is stored in the same transaction as the rows, so that a
supervisor that dies between two batches loses nothing and stores nothing twice.
"""

import dataclasses
import datetime
import hashlib
import itertools
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.attempts import job_results, probe_result
from services.clock import utc_now
from services.domain.box_counts import BoxCounts
from services.domain.contract import (
    EVENTS_FILE,
    LONGEST_METRIC_NAME,
    TOTAL_LOSS,
    VALIDATION_LOSS,
    EventKind,
    bounded_metrics,
)
from services.domain.jobs.input_wait import recent
from services.domain.sizes import counted
from services.safe_files import open_regular
from services.sanitize import clean, count, number, text
from services.store import attempts, events, jobs, training_series
from services.store.devices import leases
from services.store.engine import Store, StoreUnavailable
from services.store.models import Attempt, Job
from services.store.training_series import Value

__all__ = ["ingest"]

_BATCH_BYTES = 1024 * 1024
_LONGEST_LINE = 16 * 1024 * 1024  # longer lines are skipped
_LONGEST_PHASE = 32  # the limit of the database's column
_LONGEST_PROBLEM = 300
_LATEST = 253_402_214_400  # 31 December 9999; later times overflow in other time zones
_MOST_VERSIONS = 32
_SLOWEST_STEP_S = 1e6  # eleven days; with more, the remaining time of a job would overflow
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Event:
    kind: EventKind
    at: datetime.datetime
    data: dict[str, Any]


@dataclass(frozen=True)
class _Line:
    """One line of the file: an event, or the reason why it is not one."""

    length: int
    event: _Event | None = None
    problem: str = ""


@dataclass(frozen=True)
class _Target:
    """The attempt that the lines belong to, and the token of its lease."""

    store: Store
    job_id: int
    number: int
    token: str


def ingest(store: Store, job_id: int, number: int, token: str, attempt_dir: Path) -> int:
    """Store the next batch of lines. Returns the bytes read; 0 if there was nothing or the lease is lost."""
    with store.reading() as session:
        attempt = attempts.get(session, job_id, number)
        position = attempt.ingested if attempt else 0
    read = _read_from(attempt_dir / EVENTS_FILE, position)
    lines = [_parse(line) for line in read.splitlines(keepends=True)]
    if not lines or not _store_lines(_Target(store, job_id, number, token), position, lines):
        return 0
    return len(read)


def _store_lines(target: _Target, position: int, lines: Sequence[_Line]) -> bool:
    """Store these lines except those that the database refuses, which are found by bisection.

    False if the lease is lost, or if another process has stored lines from `position` on.
    """
    try:
        return _store_together(target, position, lines)
    except StoreUnavailable:
        raise
    except Exception as error:
        if len(lines) == 1:
            refused = dataclasses.replace(lines[0], event=None, problem=f"it cannot be stored: {error}")
            return _store_together(target, position, [refused])
    half = len(lines) // 2
    middle = position + sum(line.length for line in lines[:half])
    return _store_lines(target, position, lines[:half]) and _store_lines(target, middle, lines[half:])


def _store_together(target: _Target, position: int, lines: Sequence[_Line]) -> bool:
    """Store the lines in one transaction."""
    found = [line.event for line in lines if line.event]
    with target.store.transaction() as session:
        if leases.held(session, target.job_id, target.token) is None:
            return False
        job, attempt = jobs.lock(session, target.job_id), attempts.get(session, target.job_id, target.number)
        if job is None or attempt is None or attempt.ingested != position:
            return False
        training_series.record(session, job.id, attempt.number, [value for event in found for value in _values(event)])
        shown = [event for event in found if event.kind != EventKind.STEP]  # steps are in the series
        events.add_many(session, [_row(job, attempt, event) for event in [*shown, *_warning_of_skipped(lines)]])
        for event in found:
            _update_progress(job, attempt, event)
            if event.kind == EventKind.PROBE:
                probe_result.apply(session, job, attempt, event.data, event.at)
        attempt.ingested = position + sum(line.length for line in lines)
    return True


def _row(job: Job, attempt: Attempt, event: _Event) -> dict[str, Any]:
    return {"job_id": job.id, "attempt": attempt.number, "kind": event.kind, "at": event.at, "data": event.data}


def _warning_of_skipped(lines: Sequence[_Line]) -> Iterator[_Event]:
    problems = [line.problem for line in lines if line.problem]
    if problems:
        message = f"ignored {counted(len(problems), 'line')} of {EVENTS_FILE}: {text(problems[0])[:_LONGEST_PROBLEM]}"
        _log.warning("%s", message)
        yield _Event(EventKind.WARNING, utc_now(), {"message": message})


def _read_from(path: Path, position: int) -> bytes:
    """Whole lines only, as the last one may be incomplete. One line may be longer than a batch, up to a limit."""
    try:
        with open_regular(path) as file:
            file.seek(position)
            read = file.read(_BATCH_BYTES)
            if len(read) == _BATCH_BYTES and b"\n" not in read:
                read += file.readline(_LONGEST_LINE - _BATCH_BYTES)
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            _log.warning("%s cannot be read: %s", path, error)
        return b""
    end = read.rfind(b"\n") + 1
    return read[:end] if end or len(read) < _LONGEST_LINE else read


def _parse(line: bytes) -> _Line:
    if not line.strip():
        return _Line(len(line))
    try:
        return _Line(len(line), _event(json.loads(line)))
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError, OSError, RecursionError) as error:
        return _Line(len(line), problem=f"not an event ({type(error).__name__}: {error})")


def _event(parsed: Any) -> _Event:
    values = clean(parsed)
    kind, seconds = EventKind(values.pop("kind")), float(values.pop("time"))
    if not 0 <= seconds < _LATEST:
        raise ValueError(f"time: {seconds:g} is not a valid time")
    step = parsed.get("step")
    if isinstance(step, int) and not isinstance(step, bool) and count(step) is None:
        raise ValueError("step: out of range")
    if kind == EventKind.EVAL:
        values["metrics"] = bounded_metrics(_part(values, "metrics"))
        boxes = BoxCounts.from_values(values.pop("boxes", None))
        values |= {"boxes": boxes.to_values()} if boxes else {}
    return _Event(kind, datetime.datetime.fromtimestamp(seconds, datetime.UTC), values)


def _values(event: _Event) -> Iterator[Value]:
    data = event.data
    step = count(data.get("step"))
    if step is None:
        return
    found: dict[str, Any] = {}
    if event.kind == EventKind.STEP:
        device, host = _part(data, "device"), _part(data, "host")
        found = {
            **_part(data, "losses"),
            "learning_rate": data.get("learning_rate"),
            "images_per_s": data.get("images_per_s"),
            "step_s": data.get("step_s"),
            "input_wait": data.get("input_wait"),
            "loss_scale": data.get("loss_scale"),
            "skipped_updates": count(data.get("skipped_updates")),
            "device_memory": count(device.get("current")),
            "device_memory_peak": count(device.get("peak")),
            "host_memory": count(host.get("current")),
        }
    elif event.kind == EventKind.EVAL:
        found = dict(_part(data, "metrics"))
        # The losses have the names of training's, and take their place at this step.
        found[VALIDATION_LOSS] = found.get(TOTAL_LOSS)
    for name, value in found.items():
        finite = number(value)
        if finite is not None:
            yield Value(_series_name(name), step, finite, event.at)


def _series_name(metric: str) -> str:
    """The name, shortened to the limit of the database's column; a digest keeps long names with equal starts apart."""
    if len(metric) <= LONGEST_METRIC_NAME:
        return metric
    digest = hashlib.sha256(metric.encode()).hexdigest()[:10]
    return f"{metric[: LONGEST_METRIC_NAME - len(digest) - 1]}…{digest}"


def _update_progress(job: Job, attempt: Attempt, event: _Event) -> None:
    data = event.data
    step = count(data.get("step"))
    if step is not None:
        attempt.step, job.step = step, min(step, job.steps)
    if event.kind == EventKind.PHASE and isinstance(data.get("phase"), str):
        attempt.phase = data["phase"][:_LONGEST_PHASE]
    elif event.kind == EventKind.DEVICE:
        _take_device(attempt, data)
    elif event.kind == EventKind.STEP:
        peak = count(_part(data, "device").get("peak"))
        if peak is not None:
            attempt.peak_bytes = max(peak, attempt.peak_bytes or 0)
        seconds = number(data.get("step_s"))
        attempt.step_s = seconds if seconds and 0 < seconds < _SLOWEST_STEP_S else attempt.step_s
        waited = number(data.get("input_wait"))
        if waited is not None and 0 <= waited <= 1:
            attempt.input_wait = recent(attempt.input_wait, waited)
    elif event.kind == EventKind.CHECKPOINT and step is not None:
        attempt.saved_step = step
    if event.kind in (EventKind.PHASE, EventKind.EVAL):
        job_results.note_best(job, attempt.number, data)


def _take_device(attempt: Attempt, data: Mapping[str, Any]) -> None:
    """What TensorFlow gives its allocator replaces what was planned for, unless the device never had so much."""
    limit = count(data.get("limit"))
    if limit and limit <= (attempt.free_bytes or 0):
        attempt.limit_bytes = limit
    told = itertools.islice(_part(data, "versions").items(), _MOST_VERSIONS)
    said = {text(name)[:64]: text(value)[:64] for name, value in told if isinstance(value, str)}
    of_host = {name: value for name, value in (attempt.versions or {}).items() if name in ("driver", "capability")}
    attempt.versions = {**said, **of_host}


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object called `name`; empty if there is none."""
    part = data.get(name)
    return part if isinstance(part, Mapping) else {}
