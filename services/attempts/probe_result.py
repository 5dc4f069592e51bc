"""Make the micro-batch that a probe chose part of the plan, and store the probe's measurements."""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from services.domain.contract import ENOUGH_RUNS
from services.domain.plan import changes as plan_changes
from services.domain.plan.plan import Plan
from services.domain.planner import probe_spec
from services.planning import adopt, past_attempts
from services.planning.measurements import law_for, measurement_row, plausible_peak
from services.planning.plan_json import change_values, plan_of_job, prediction_values
from services.sanitize import count
from services.store import measurements
from services.store.models import Attempt, Job

__all__ = ["apply"]


def apply(session: Session, job: Job, attempt: Attempt, report: Mapping[str, Any], now: datetime.datetime) -> None:
    """Apply a `probe` event of the running attempt. Ignores one that does not fit the attempt's plan."""
    before = plan_of_job(attempt.plan)
    points, chosen = _points(report, before.batch_size), count(report.get("chosen"))
    if chosen not in points:
        return
    after = dataclasses.replace(before, micro_batch=chosen)
    for size, peak in points.items():
        plan = dataclasses.replace(before, micro_batch=size)
        _add_measurement(session, attempt, plan, peak, now, brief=size in _brief(report))
    law = law_for(session, [after.model], past_attempts.device_kind(attempt), past_attempts.hardware(attempt))
    why = probe_spec.found(points, attempt.limit_bytes)
    changes = plan_changes.changes(before, after, why)
    planned = {
        **attempt.planned,
        "summary": f"{attempt.planned['summary']} {_sentence(before, after, why)}",
        "changes": [*(attempt.planned.get("changes") or []), *change_values(changes)],
        "prediction": prediction_values(law.predict(after)),
    }
    adopt.probed_plan(job, attempt, after, planned)


def _points(report: Mapping[str, Any], batch: int) -> dict[int, int | None]:
    """Peaks by micro-batch; None where memory ran out."""
    points: dict[int, int | None] = {}
    for point in _tried(report):
        size, peak = count(point.get("micro_batch")), count(point.get("peak"))
        if size and batch % size == 0 and (peak or point.get("peak") is None):
            points[size] = peak
    return points


def _brief(report: Mapping[str, Any]) -> set[int]:
    """The micro-batches that ran so few times that a longer run may need more memory."""
    tried = [(count(point.get("micro_batch")), count(point.get("runs"))) for point in _tried(report)]
    return {size for size, runs in tried if size and runs is not None and runs < ENOUGH_RUNS}


def _tried(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = report.get("points")
    return [point for point in found if isinstance(point, Mapping)] if isinstance(found, list) else []


def _add_measurement(
    session: Session, attempt: Attempt, plan: Plan, peak: int | None, now: datetime.datetime, *, brief: bool
) -> None:
    if peak is not None and not plausible_peak(peak, attempt):
        return
    complete = peak is not None
    at_least = peak if peak is not None else attempt.limit_bytes + 1
    row = measurement_row(attempt, plan, now, peak=at_least, complete=complete, brief=brief and complete)
    measurements.add(session, row)


def _sentence(before: Plan, after: Plan, why: str) -> str:
    if before.micro_batch == after.micro_batch:
        return f"Micro-batch {after.micro_batch} is kept: {why}."
    return f"Micro-batch {before.micro_batch} → {after.micro_batch}: {why}."
