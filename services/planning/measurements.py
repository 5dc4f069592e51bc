"""Turn an ended attempt into a measurement row, and rows into points of the memory law."""

import datetime
import functools
import importlib.metadata
from collections.abc import Iterable

from sqlalchemy.orm import Session

from services import sanitize
from services.domain import catalogue
from services.domain.contract import ENOUGH_RUNS, AllocatorStats, DeviceKind, Outcome, Phase
from services.domain.diagnosis.ending import Diagnosis
from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.plan import Plan
from services.domain.precision import Precision
from services.planning import past_attempts
from services.planning.plan_json import plan_of_job
from services.store import measurements
from services.store.models import Attempt, Measurement

__all__ = [
    "law_for",
    "measurement_of_attempt",
    "measurement_row",
    "plausible_peak",
    "points_of",
    "ran_out_evaluating",
]

_MOST_DEVICES = 4  # a reported peak above the memory of this many devices is not believed


def law_for(session: Session, models: Iterable[str], kind: str | None = None, hardware: str | None = None) -> MemoryLaw:
    """The memory law from this installation's measurements of these models and of their smaller variants."""
    names = {rung.name for name in models for rung in _ladder(name)}
    points = [_point(row) for row in measurements.of_models(session, names, kind)]
    return MemoryLaw(points, _software(), hardware, on_gpu=kind == DeviceKind.GPU)


def points_of(session: Session, model: str, kind: str, hardware: str | None = None) -> list[Point]:
    """This installation's measurements of the model on this kind of device, with the current software."""
    points = [_point(row) for row in measurements.of_models(session, [model], kind)]
    return [point for point in points if point.software == _software() and point.hardware in (None, hardware)]


def measurement_of_attempt(
    attempt: Attempt, outcome: Outcome | None, now: datetime.datetime, *, ran_out: bool
) -> Measurement | None:
    """The memory that an ended attempt needed; None if the attempt tells nothing about it.

    `ran_out`: its plan was too large. The peak of a leak says nothing about the plan.
    """
    if attempt.diagnosis == Diagnosis.LEAK:
        return None
    allocator = outcome.allocator if outcome else AllocatorStats()
    # At least more than the limit, whatever the allocator reports: fragmented memory cannot be used either.
    at_least = max(_bytes_or_0(allocator.in_use) + _bytes_or_0(allocator.requested), attempt.limit_bytes + 1)
    at_least = min(at_least, _MOST_DEVICES * attempt.limit_bytes + 1)
    if past_attempts.device_kind(attempt) is DeviceKind.GPU:
        # The request may have been for scratch memory, which a convolution can do without.
        at_least = attempt.limit_bytes + 1
    # Before the first step, the peak is not that of training.
    trained = max(attempt.peak_bytes or 0, _bytes_or_0(allocator.peak)) if attempt.step_s is not None else 0
    peak = plausible_peak(trained, attempt)
    evaluation: int | None = plausible_peak(_bytes_or_0(allocator.evaluation_peak), attempt) or None
    if ran_out and ran_out_evaluating(attempt):
        evaluation = at_least
    elif ran_out:
        peak, evaluation = at_least, None
    if not peak and not evaluation:
        return None
    return measurement_row(
        attempt,
        plan_of_job(attempt.plan),
        now,
        peak=peak,
        evaluation=evaluation,
        host_peak=sanitize.count(outcome.host_peak_bytes) if outcome else None,
        complete=not ran_out,
        brief=not ran_out and _is_brief(attempt, outcome),
    )


def measurement_row(
    attempt: Attempt,
    plan: Plan,
    now: datetime.datetime,
    *,
    peak: int,
    complete: bool,
    brief: bool,
    evaluation: int | None = None,
    host_peak: int | None = None,
) -> Measurement:
    """A measurement of `plan` by `attempt`. Not `complete`: it needed at least this. `brief`: after few steps."""
    return Measurement(
        job_id=attempt.job_id,
        attempt=attempt.number,
        model=plan.model,
        precision=str(plan.precision),
        micro_batch=plan.micro_batch,
        accumulation=plan.accumulation,
        height=plan.image_size[0],
        width=plan.image_size[1],
        proposals=plan.proposals,
        second_stage_batch=plan.second_stage_batch,
        device_kind=past_attempts.device_kind(attempt),
        software=_software(),
        hardware=past_attempts.hardware(attempt),
        peak_bytes=peak,
        evaluation_peak_bytes=evaluation,
        host_peak_bytes=host_peak,
        complete=complete,
        brief=brief,
        created_at=now,
    )


def _is_brief(attempt: Attempt, outcome: Outcome | None) -> bool:
    """Were so few micro-batches computed that a longer run may need more memory?"""
    reported = sanitize.count(outcome.runs) if outcome else None
    at_most = attempt.step * plan_of_job(attempt.plan).accumulation  # fewer if it resumed from a checkpoint
    return (at_most if reported is None else reported) < ENOUGH_RUNS


def _bytes_or_0(reported: int | None) -> int:
    """The bytes that a trainer reports; 0 if the value is missing or impossible."""
    return min(sanitize.count(reported) or 0, 2**60)


def plausible_peak(peak: int, attempt: Attempt) -> int:
    """0 for a peak that the device cannot have had. Believed, it would keep other jobs of the model from starting."""
    return peak if peak <= _MOST_DEVICES * attempt.limit_bytes else 0


def ran_out_evaluating(attempt: Attempt) -> bool:
    return attempt.phase == Phase.EVALUATING


@functools.cache
def _software() -> str:
    """TensorFlow's version, read without importing it: another version may need more or less memory."""
    try:
        return f"tensorflow {importlib.metadata.version('tensorflow')}"
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _ladder(name: str) -> list[catalogue.Model]:
    model = catalogue.get(name)
    return [model, *catalogue.smaller_models(model)]


def _point(row: Measurement) -> Point:
    return Point(
        model=row.model,
        precision=Precision(row.precision),
        micro_batch=row.micro_batch,
        image_size=(row.height, row.width),
        proposals=row.proposals,
        peak_bytes=row.peak_bytes,
        complete=row.complete,
        second_stage_batch=row.second_stage_batch,
        accumulation=row.accumulation,
        evaluation_bytes=row.evaluation_peak_bytes,
        software=row.software,
        hardware=row.hardware,
        brief=row.brief,
    )
