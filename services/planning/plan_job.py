"""Plan a job for the known devices: its first attempt, and the next one after it ran out of memory."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services.devices.capacity import (
    PRESENT_S,
    Capacity,
    absent_devices,
    capacities_of,
    largest_device,
    present_devices,
)
from services.domain.diagnosis import remedies
from services.domain.memory.law import MemoryLaw
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Policy, Prefer
from services.domain.planner.decision import Decision, GiveUp
from services.domain.planner.first_plan import first_plan
from services.domain.planner.next_plan import next_plan
from services.domain.planner.request import Failure, PlanRequest
from services.domain.precision import Precision
from services.planning import past_attempts
from services.planning.measurements import law_for, ran_out_evaluating
from services.planning.plan_json import plan_of_job, policy_of_job
from services.store.devices import devices
from services.store.models import Attempt, Job

__all__ = ["FirstPlan", "failures", "plan_after", "plan_first"]


@dataclass(frozen=True)
class FirstPlan:
    decision: Decision | GiveUp
    capacity: int | None  # of the largest device; None if no device has been reported yet
    law: MemoryLaw
    present: Sequence[Capacity]
    known: Sequence[Capacity]  # the present devices and those that are expected back
    half: Precision | None  # what the largest device computes fast in two bytes


def plan_first(session: Session, asked: Plan, policy: Policy, min_bytes: int, now: datetime.datetime) -> FirstPlan:
    """Plan the first attempt for the largest present device, or else for one that is expected back."""
    present = capacities_of(present_devices(session, now))
    away = capacities_of(absent_devices(session, now))

    def plan_for(device: Capacity | None) -> FirstPlan:
        kind, hardware = (device.kind, device.hardware) if device else (None, None)
        law = law_for(session, [asked.model], kind, hardware)
        capacity = device.usable_bytes if device else None
        half = device.half if device else None
        decision = first_plan(PlanRequest(asked, policy, law, half), capacity)
        return FirstPlan(decision, capacity, law, present, [*present, *away], half)

    here, back = largest_device(present, min_bytes), largest_device(away, min_bytes)
    first = plan_for(here)
    if back is None or (here is not None and isinstance(first.decision, Decision)):
        return first
    later = plan_for(back)
    return later if here is None or isinstance(later.decision, Decision) else first


def plan_after(
    session: Session, job: Job, attempts: Sequence[Attempt], now: datetime.datetime
) -> tuple[Decision | GiveUp, int]:
    """Plan the next attempt after one that ran out of device memory. Returns the decision and the capacity it is for.

    The measurement of the last attempt must be stored. A job that prefers to shrink is fitted to the free devices and
    the one it just had. A job that prefers to wait is fitted to the largest device, present or expected back.
    """
    last, policy = attempts[-1], policy_of_job(job)
    present = list(present_devices(session, now))
    if policy.prefer is Prefer.WAIT:
        present += absent_devices(session, now)
    else:
        since = now - datetime.timedelta(seconds=PRESENT_S)
        free = {device.id for device in devices.unleased(session, last.host, since)} | {last.device_id}
        present = [device for device in present if device.id in free and device.problem is None]
    largest = largest_device(capacities_of(present), job.min_memory_bytes)
    capacity = max(largest.usable_bytes if largest else 0, last.limit_bytes)
    law = law_for(session, [job.model], past_attempts.device_kind(last), past_attempts.hardware(last))
    request = PlanRequest(plan_of_job(job.asked), policy, law, largest.half if largest else None)
    used = remedies.attempts_used(past_attempts.tried(attempts))
    return next_plan(request, capacity, failures(attempts), used), capacity


def failures(attempts: Sequence[Attempt]) -> list[Failure]:
    """Those of a job's ended attempts that were too large for their device."""
    return [
        Failure(plan_of_job(attempt.plan), attempt.limit_bytes, attempt.number, ran_out_evaluating(attempt))
        for attempt, failed in zip(attempts, remedies.ran_out(past_attempts.tried(attempts)), strict=True)
        if failed
    ]
