"""Between the store and the planner: what was measured, what devices there are, and the plan that follows."""

import datetime
import functools
import importlib.metadata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import sanitize
from services.domain import catalogue
from services.domain.contract import ENOUGH_RUNS, AllocatorStats, DeviceKind, Outcome, Phase
from services.domain.diagnosis import remedies
from services.domain.diagnosis.ending import Diagnosis
from services.domain.memory.law import MemoryLaw, Point, Prediction
from services.domain.plan.changes import Change
from services.domain.plan.plan import Plan, Precision
from services.domain.plan.policy import Policy, Prefer
from services.domain.planner import planner
from services.domain.planner.planner import Decision, GiveUp
from services.planning import past_attempts
from services.store import devices, measurements
from services.store.models import Attempt, Device, Job, Measurement

__all__ = [
    "KNOWN_S",
    "PRESENT_S",
    "FirstPlan",
    "Room",
    "absent_devices",
    "as_planned",
    "change_values",
    "failures",
    "largest",
    "law_for",
    "measured",
    "measurement",
    "plan_after",
    "plan_first",
    "plan_of_job",
    "points_of",
    "policy_of_job",
    "possible_peak",
    "prediction_values",
    "present_devices",
    "rooms",
    "rung_values",
    "usable_bytes",
    "waits_for_device",
]

PRESENT_S = 30.0  # a device that was not reported for this long is not there
KNOWN_S = 24 * 3600.0  # for this long, a host that went away, or a device with a problem, is expected back
# CUDA's context, cuDNN's handles and what the display takes: the allocator never gets these.
_GPU_RESERVE_BYTES = 600 * 2**20
_MOST_DEVICES = 4  # as much memory as so many devices have is not believed of a trainer that had one


def usable_bytes(kind: str, size: int) -> int:
    """What the allocator can have of a device, or of its free memory."""
    return size if kind == DeviceKind.CPU else max(0, size - _GPU_RESERVE_BYTES)


@dataclass(frozen=True)
class Room:
    """What a device could hold, and what it could hold now; `size_bytes` is what is printed on it."""

    device_id: str
    name: str
    kind: str
    total_bytes: int
    free_bytes: int
    bfloat16: bool
    size_bytes: int
    problem: str | None = None


def rooms(found: Iterable[Device]) -> list[Room]:
    return [
        Room(
            device.id,
            device.name,
            device.kind,
            usable_bytes(device.kind, device.total_bytes),
            min(usable_bytes(device.kind, device.free_bytes), usable_bytes(device.kind, device.total_bytes)),
            device.bfloat16,
            device.total_bytes,
            device.problem,
        )
        for device in found
    ]


def present_devices(session: Session, now: datetime.datetime) -> Sequence[Device]:
    return devices.seen_since(session, now - datetime.timedelta(seconds=PRESENT_S))


def absent_devices(session: Session, now: datetime.datetime) -> list[Device]:
    """Those of hosts that were not heard of lately, and may well come back."""
    present = {device.id for device in present_devices(session, now)}
    known = devices.seen_since(session, now - datetime.timedelta(seconds=KNOWN_S))
    return [device for device in known if device.id not in present]


def plan_of_job(values: Mapping[str, Any]) -> Plan:
    return Plan(**values)


def policy_of_job(job: Job) -> Policy:
    return Policy.from_dict(job.policy)


def waits_for_device(job: Job) -> bool:
    """Whether its owner wants it kept although no known device can hold it."""
    return bool((job.request.get("device") or {}).get("wait"))


def law_for(session: Session, models: Iterable[str], kind: str | None) -> MemoryLaw:
    """The law that this box's own measurements give for these models and the smaller ones below them."""
    names = {rung.name for name in models for rung in _ladder(name)}
    return MemoryLaw([_point(row) for row in measurements.of_models(session, names, kind)], _software())


def points_of(session: Session, model: str, kind: str) -> list[Point]:
    """What this box has measured of the model itself on this kind of device, with the software that trains now."""
    points = [_point(row) for row in measurements.of_models(session, [model], kind)]
    return [point for point in points if point.software == _software()]


def as_planned(decision: Decision, capacity: int | None) -> dict[str, Any]:
    """What is kept beside a plan: how it came about."""
    return {
        "summary": decision.summary,
        "changes": change_values(decision.changes),
        "prediction": prediction_values(decision.prediction),
        "capacity_bytes": capacity,
    }


def change_values(changes: Iterable[Change]) -> list[dict[str, Any]]:
    return [
        {
            "lever": None if change.lever is None else str(change.lever),
            "field": change.field,
            "before": change.before,
            "after": change.after,
            "reason": change.reason,
            "what": change.what,
            "why": change.why,
            "cost": change.cost,
        }
        for change in changes
    ]


def prediction_values(prediction: Prediction) -> dict[str, Any]:
    return {
        "bytes": prediction.bytes,
        "low_bytes": prediction.low,
        "high_bytes": prediction.high,
        "source": str(prediction.source),
        "points": prediction.points,
    }


def rung_values(rung: planner.Step, device_ids: Sequence[str]) -> dict[str, Any]:
    """`device_ids`: of the capacities that the rung was judged by."""
    return {
        "plan": rung.plan.to_dict(),
        "predicted": prediction_values(rung.prediction),
        "lever": None if rung.lever is None else str(rung.lever),
        "fits": dict(zip(device_ids, rung.fits, strict=True)),
        "cost": rung.cost,
        "summary": rung.sentence,
    }


def largest(found: Sequence[Room], min_bytes: int = 0) -> Room | None:
    """The device with the most memory that the job may use. One that never told its memory may hold anything."""
    fitting = [room for room in found if room.size_bytes >= max(min_bytes, 1)]
    return max(fitting, key=lambda room: room.total_bytes, default=None)


@dataclass(frozen=True)
class FirstPlan:
    decision: Decision | GiveUp
    capacity: int | None  # of the largest device; None: no device has been reported yet
    law: MemoryLaw
    rooms: Sequence[Room]  # of the devices that are present
    known: Sequence[Room]  # and of those that are expected back
    bfloat16: bool = False  # the largest device computes it well


def plan_first(session: Session, asked: Plan, policy: Policy, min_bytes: int, now: datetime.datetime) -> FirstPlan:
    """How a job that asks for this would start: on a device that is present, or else on one that is expected back."""
    present, away = rooms(present_devices(session, now)), rooms(absent_devices(session, now))

    def plan_for(room: Room | None) -> FirstPlan:
        law = law_for(session, [asked.model], room.kind if room else None)
        capacity = room.total_bytes if room else None
        bfloat16 = room is not None and room.bfloat16
        decision = planner.first_plan(asked, policy, law, capacity, bfloat16=bfloat16)
        return FirstPlan(decision, capacity, law, present, [*present, *away], bfloat16)

    here, back = largest(present, min_bytes), largest(away, min_bytes)
    first = plan_for(here)
    if back is None or (here is not None and isinstance(first.decision, Decision)):
        return first
    later = plan_for(back)
    return later if here is None or isinstance(later.decision, Decision) else first


def plan_after(
    session: Session, job: Job, attempts: Sequence[Attempt], now: datetime.datetime
) -> tuple[Decision | GiveUp, int]:
    """What to do after the last of `attempts` ran out of its device's memory, and the memory that this is meant for.
    Its measurement must be in the store.

    A job that prefers to shrink is fitted to the devices that are free and the one it just had; one that prefers to
    wait, to the largest there is or is expected back.
    """
    last, policy = attempts[-1], policy_of_job(job)
    present = list(present_devices(session, now))
    if policy.prefer is Prefer.WAIT:
        present += absent_devices(session, now)
    else:
        since = now - datetime.timedelta(seconds=PRESENT_S)
        free = {device.id for device in devices.unleased(session, last.host, since)} | {last.device_id}
        present = [device for device in present if device.id in free and device.problem is None]
    room = largest(rooms(present), job.min_memory_bytes)
    capacity = max(room.total_bytes if room else 0, last.limit_bytes)
    law = law_for(session, [job.model], past_attempts.device_kind(last))
    decision = planner.next_plan(
        plan_of_job(job.asked),
        plan_of_job(last.plan),
        policy,
        law,
        capacity,
        failures(attempts),
        attempts_used=remedies.attempts_used(past_attempts.tried(attempts)),
        number=last.number,
        bfloat16=room is not None and room.bfloat16,
    )
    return decision, capacity


def failures(attempts: Sequence[Attempt]) -> list[planner.Failure]:
    """Those of a job's attempts, which are over, that were too large for their device."""
    return [
        planner.Failure(plan_of_job(attempt.plan), attempt.limit_bytes, evaluating=_ran_out_evaluating(attempt))
        for attempt, failed in zip(attempts, remedies.ran_out(past_attempts.tried(attempts)), strict=True)
        if failed
    ]


def measured(attempt: Attempt, outcome: Outcome | None, now: datetime.datetime, *, ran_out: bool) -> Measurement | None:
    """The measurement that an ended attempt is; None where it says nothing about memory.

    `ran_out`: its plan was too large. What a leak came to is not what its plan needs.
    """
    if attempt.diagnosis == Diagnosis.LEAK:
        return None
    allocator = outcome.allocator if outcome else AllocatorStats()
    # More than there was, whatever the allocator says: fragments cannot be used either.
    at_least = max(_known(allocator.in_use) + _known(allocator.requested), attempt.limit_bytes + 1)
    at_least = min(at_least, _MOST_DEVICES * attempt.limit_bytes + 1)
    # The peak of one that never trained a step is no peak of training.
    trained = max(attempt.peak_bytes or 0, _known(allocator.peak)) if attempt.step_s is not None else 0
    peak = possible_peak(trained, attempt)
    evaluation: int | None = possible_peak(_known(allocator.evaluation_peak), attempt) or None
    if ran_out and _ran_out_evaluating(attempt):
        evaluation = at_least
    elif ran_out:
        peak, evaluation = at_least, None
    if not peak and not evaluation:
        return None
    return measurement(
        attempt,
        plan_of_job(attempt.plan),
        now,
        peak=peak,
        evaluation=evaluation,
        host_peak=sanitize.count(outcome.host_peak_bytes) if outcome else None,
        complete=not ran_out,
        brief=not ran_out and _is_brief(attempt, outcome),
    )


def measurement(
    attempt: Attempt,
    plan: Plan,
    now: datetime.datetime,
    *,
    peak: int,
    complete: bool,
    brief: bool = False,
    evaluation: int | None = None,
    host_peak: int | None = None,
) -> Measurement:
    """What `attempt` has measured of `plan`; not complete: it needed at least this; brief: in few steps."""
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
        peak_bytes=peak,
        evaluation_peak_bytes=evaluation,
        host_peak_bytes=host_peak,
        complete=complete,
        brief=brief,
        created_at=now,
    )


def _is_brief(attempt: Attempt, outcome: Outcome | None) -> bool:
    """Whether so few micro-batches were computed that more of them may need more."""
    said = sanitize.count(outcome.runs) if outcome else None
    at_most = attempt.step * plan_of_job(attempt.plan).accumulation  # it may have gone on from a checkpoint
    return (at_most if said is None else said) < ENOUGH_RUNS


def _known(said: int | None) -> int:
    """Bytes, as the trainer says; 0 where it says nothing that can be."""
    return min(sanitize.count(said) or 0, 2**60)


def possible_peak(peak: int, attempt: Attempt) -> int:
    """0 for a peak that the attempt's device cannot have had: it would keep other jobs of the model from starting."""
    return peak if peak <= _MOST_DEVICES * attempt.limit_bytes else 0


def _ran_out_evaluating(attempt: Attempt) -> bool:
    return attempt.phase == Phase.EVALUATING


@functools.cache
def _software() -> str:
    """What trains here, read without importing it: another version may need another amount."""
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
        brief=row.brief,
    )
