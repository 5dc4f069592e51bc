"""What a trainer reports (`events.jsonl`) becomes rows: series of metrics, events for people, progress of the job.

Nothing that stands in the file stops the reading. A line that is no event, or that the database refuses, is passed over
and noted as a warning; it costs only itself. Read in batches from where the last one ended; the position is kept in the
transaction that keeps the rows, so a supervisor that dies between two batches loses and doubles nothing.
"""

import dataclasses
import datetime
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.attempts import probe_result
from services.clock import utc_now
from services.domain.contract import EVENTS_FILE, LONGEST_METRIC_NAME, EventKind, bounded_metrics
from services.domain.sizes import counted
from services.safe_files import open_regular
from services.sanitize import count, number, storable, text
from services.store import attempts, events, jobs, leases, training_series
from services.store.engine import Store, StoreUnavailable
from services.store.models import Attempt, Job
from services.store.training_series import Value

__all__ = ["ingest"]

_BATCH_BYTES = 1024 * 1024
_LONGEST_LINE = 16 * 1024 * 1024  # what is longer is no event
_LONGEST_PHASE = 32  # as the database keeps it
_LONGEST_PROBLEM = 300
_LATEST = 253_402_214_400  # 31 December 9999: later moments are none in another zone
_SLOWEST_STEP_S = 1e6  # eleven days: more is no step, and what is left of a job could not be said in seconds
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Event:
    kind: EventKind
    at: datetime.datetime
    data: dict[str, Any]


@dataclass(frozen=True)
class _Line:
    """One line of the file: an event, or the reason why it is none."""

    length: int
    event: _Event | None = None
    problem: str = ""


@dataclass(frozen=True)
class _Target:
    """The attempt whose lines these are, and the lease that allows to keep them."""

    store: Store
    job_id: int
    number: int
    token: str


def ingest(store: Store, job_id: int, number: int, token: str, attempt_dir: Path) -> int:
    """Take in what is new; returns the bytes read, 0 where there was nothing. Needs the lease's token."""
    with store.reading() as session:
        attempt = attempts.get(session, job_id, number)
        position = attempt.ingested if attempt else 0
    read = _read_from(attempt_dir / EVENTS_FILE, position)
    lines = [_parse(line) for line in read.splitlines(keepends=True)]
    if not lines or not _take_in(_Target(store, job_id, number, token), position, lines):
        return 0
    return len(read)


def _take_in(target: _Target, position: int, lines: Sequence[_Line]) -> bool:
    """Keep these lines, without those that cannot be kept: halving finds them. False where the lease is gone, or
    somebody else has read on from `position`."""
    try:
        return _keep(target, position, lines)
    except StoreUnavailable:
        raise
    except Exception as error:
        if len(lines) == 1:
            refused = dataclasses.replace(lines[0], event=None, problem=f"it cannot be stored: {error}")
            return _keep(target, position, [refused])
    half = len(lines) // 2
    middle = position + sum(line.length for line in lines[:half])
    return _take_in(target, position, lines[:half]) and _take_in(target, middle, lines[half:])


def _keep(target: _Target, position: int, lines: Sequence[_Line]) -> bool:
    """All in one transaction."""
    found = [line.event for line in lines if line.event]
    with target.store.transaction() as session:
        if leases.held(session, target.job_id, target.token) is None:
            return False
        job, attempt = jobs.lock(session, target.job_id), attempts.get(session, target.job_id, target.number)
        if job is None or attempt is None or attempt.ingested != position:
            return False
        training_series.record(session, job.id, attempt.number, [value for event in found for value in _values(event)])
        told = [event for event in found if event.kind != EventKind.STEP]  # those are the metrics
        events.add_many(session, [_row(job, attempt, event) for event in [*told, *_note_of(lines)]])
        for event in found:
            _progress(job, attempt, event)
            if event.kind == EventKind.PROBE:
                probe_result.take_in(session, job, attempt, event.data, event.at)
        attempt.ingested = position + sum(line.length for line in lines)
    return True


def _row(job: Job, attempt: Attempt, event: _Event) -> dict[str, Any]:
    return {"job_id": job.id, "attempt": attempt.number, "kind": event.kind, "at": event.at, "data": event.data}


def _note_of(lines: Sequence[_Line]) -> Iterator[_Event]:
    """A warning about the lines that were passed over, if there are any."""
    problems = [line.problem for line in lines if line.problem]
    if problems:
        message = f"ignored {counted(len(problems), 'line')} of {EVENTS_FILE}: {text(problems[0])[:_LONGEST_PROBLEM]}"
        _log.warning("%s", message)
        yield _Event(EventKind.WARNING, utc_now(), {"message": message})


def _read_from(path: Path, position: int) -> bytes:
    """Whole lines only: the last one may still be in the writing. A line may be longer than a batch, up to a limit."""
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


def _event(said: Any) -> _Event:
    values = storable(said)
    kind, seconds = EventKind(values.pop("kind")), float(values.pop("time"))
    if not 0 <= seconds < _LATEST:
        raise ValueError(f"time: {seconds:g} is not a valid time")
    step = said.get("step")
    if isinstance(step, int) and not isinstance(step, bool) and count(step) is None:
        raise ValueError("step: out of range")
    if kind == EventKind.EVAL:
        values["metrics"] = bounded_metrics(_part(values, "metrics"))
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
            "device_memory": count(device.get("current")),
            "device_memory_peak": count(device.get("peak")),
            "host_memory": count(host.get("current")),
        }
    elif event.kind == EventKind.EVAL:
        found = dict(_part(data, "metrics"))
    for name, value in found.items():
        known = number(value)
        if known is not None:
            yield Value(_series_name(name), step, known, event.at)


def _series_name(metric: str) -> str:
    """As long as the database allows. Two long names that begin alike stay two."""
    if len(metric) <= LONGEST_METRIC_NAME:
        return metric
    digest = hashlib.sha256(metric.encode()).hexdigest()[:10]
    return f"{metric[: LONGEST_METRIC_NAME - len(digest) - 1]}…{digest}"


def _progress(job: Job, attempt: Attempt, event: _Event) -> None:
    data = event.data
    step = count(data.get("step"))
    if step is not None:
        attempt.step, job.step = step, min(step, job.steps)
    if event.kind == EventKind.PHASE and isinstance(data.get("phase"), str):
        attempt.phase = data["phase"][:_LONGEST_PHASE]
    elif event.kind == EventKind.STEP:
        peak = count(_part(data, "device").get("peak"))
        if peak is not None:
            attempt.peak_bytes = max(peak, attempt.peak_bytes or 0)
        seconds = number(data.get("step_s"))
        attempt.step_s = seconds if seconds and 0 < seconds < _SLOWEST_STEP_S else attempt.step_s
    elif event.kind == EventKind.CHECKPOINT and step is not None:
        attempt.saved_step = step


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = data.get(name)
    return part if isinstance(part, Mapping) else {}
