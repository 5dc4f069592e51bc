"""What a trainer reports (`events.jsonl`) becomes rows: series of metrics, events for people, progress of the job.

Nothing that stands in the file stops the reading: what is no event is passed over, what no database keeps is left out.
Read in batches from where the last one ended; the position is kept in the transaction that keeps the rows, so a
supervisor that dies between two batches loses and doubles nothing.
"""

import datetime
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import probed
from services.domain.contract import EVENTS_FILE, EventKind
from services.storable import count, number, storable
from services.store import attempts, events, jobs, leases, metrics
from services.store.engine import Store
from services.store.metrics import Value
from services.store.models import Attempt, Job

__all__ = ["ingest"]

_BATCH_BYTES = 1024 * 1024
_LONGEST_NAME, _LONGEST_PHASE = 96, 32  # as the database keeps them
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Line:
    kind: EventKind
    at: datetime.datetime
    data: dict[str, Any]


def ingest(store: Store, job_id: int, number: int, token: str, attempt_dir: Path) -> int:
    """Take in what is new; returns the bytes read, 0 where there was nothing. Needs the lease's token."""
    with store.reading() as session:
        attempt = attempts.get(session, job_id, number)
        position = attempt.ingested if attempt else 0
    text = _read_from(attempt_dir / EVENTS_FILE, position)
    if not text:
        return 0
    lines = list(_parse(text))
    with store.transaction() as session:
        if leases.held(session, job_id, token) is None:
            return 0
        job, attempt = jobs.lock(session, job_id), attempts.get(session, job_id, number)
        if job is None or attempt is None or attempt.ingested != position:
            return 0
        metrics.record(session, job_id, number, [value for line in lines for value in _values(line)])
        events.add_many(
            session,
            [
                {"job_id": job_id, "attempt": number, "kind": line.kind, "at": line.at, "data": line.data}
                for line in lines
                if line.kind != EventKind.STEP  # those are the metrics
            ],
        )
        for line in lines:
            _progress(job, attempt, line)
            if line.kind == EventKind.PROBE:
                probed.take_in(session, job, attempt, line.data, line.at)
        attempt.ingested = position + len(text)
    return len(text)


def _read_from(path: Path, position: int) -> bytes:
    """Whole lines only: the last one may still be in the writing. One that fills a batch by itself is no event."""
    try:
        with path.open("rb") as file:
            file.seek(position)
            text = file.read(_BATCH_BYTES)
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            _log.warning("%s cannot be read: %s", path, error)
        return b""
    end = text.rfind(b"\n") + 1
    return text[:end] if end or len(text) < _BATCH_BYTES else text


def _parse(text: bytes) -> Iterator[_Line]:
    for line in text.splitlines():
        try:
            values = storable(json.loads(line))
            kind, seconds = EventKind(values.pop("kind")), float(values.pop("time"))
            yield _Line(kind, datetime.datetime.fromtimestamp(seconds, datetime.UTC), values)
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError, OSError, RecursionError) as error:
            _log.warning("passed over a line of %s that is no event (%s)", EVENTS_FILE, str(error)[:200])


def _values(line: _Line) -> Iterator[Value]:
    data = line.data
    step = count(data.get("step"))
    if step is None:
        return
    found: dict[str, Any] = {}
    if line.kind == EventKind.STEP:
        device, host = _part(data, "device"), _part(data, "host")
        found = {
            **_part(data, "losses"),
            "learning_rate": data.get("learning_rate"),
            "images_per_s": data.get("images_per_s"),
            "step_s": data.get("step_s"),
            "device_memory": device.get("current"),
            "device_memory_peak": device.get("peak"),
            "host_memory": host.get("current"),
        }
    elif line.kind == EventKind.EVAL:
        found = dict(_part(data, "metrics"))
    for name, value in found.items():
        known = number(value)
        if known is not None:
            yield Value(name[:_LONGEST_NAME], step, known, line.at)


def _progress(job: Job, attempt: Attempt, line: _Line) -> None:
    data = line.data
    step = count(data.get("step"))
    if step is not None:
        attempt.step = job.step = step
    if line.kind == EventKind.PHASE and isinstance(data.get("phase"), str):
        attempt.phase = data["phase"][:_LONGEST_PHASE]
    elif line.kind == EventKind.STEP:
        peak = count(_part(data, "device").get("peak"))
        if peak is not None:
            attempt.peak_bytes = max(peak, attempt.peak_bytes or 0)
        attempt.step_s = number(data.get("step_s")) or attempt.step_s
    elif line.kind == EventKind.CHECKPOINT and step is not None:
        attempt.saved_step = step


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = data.get(name)
    return part if isinstance(part, Mapping) else {}
