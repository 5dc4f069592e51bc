"""Fit a job's plan to the device that it is about to start on.

It grows again on a larger device than the one it was shrunk for, and is shrunk back later; a two-byte precision becomes
the one that the device computes fast. Only levers that keep the weights and the schedule are moved: micro-batch,
precision, proposals and image size.
"""

import dataclasses
import datetime

from sqlalchemy.orm import Session

from services.devices.capacity import Capacity
from services.domain.memory.law import MemoryLaw
from services.domain.plan.policy import Lever, Prefer
from services.domain.planner.decision import Decision
from services.domain.planner.first_plan import first_plan
from services.domain.planner.grown_plan import grown_plan
from services.domain.planner.precision_swap import swapped
from services.domain.planner.request import PlanRequest
from services.planning import adopt, plan_job
from services.planning.plan_json import plan_of_job, policy_of_job
from services.store import attempts
from services.store.models import Job

__all__ = ["grow", "shrink_back", "swap_precision"]

_GROWN_FROM = "grown_from_bytes"  # in `job.planned`: the capacity that the plan was for before it grew
_NOT_CHANGED = (Lever.BACKBONE, Lever.BATCH_SIZE)


def grow(session: Session, job: Job, device: Capacity, limit: int, law: MemoryLaw, now: datetime.datetime) -> None:
    """Give a job that is about to start on `device` the largest plan that fits `limit`, at most the requested one."""
    meant_for = job.planned.get("capacity_bytes")
    if meant_for is None or job.plan == job.asked:
        return
    request = PlanRequest(plan_of_job(job.asked), policy_of_job(job), law, device.half)
    failures = plan_job.failures(attempts.of_job(session, job.id))
    decision = grown_plan(request, plan_of_job(job.plan), meant_for, limit, failures)
    if decision is not None:
        adopt.plan_while_queued(session, job, decision, limit, now, **{_GROWN_FROM: meant_for})


def swap_precision(
    session: Session, job: Job, device: Capacity, limit: int, law: MemoryLaw, now: datetime.datetime
) -> None:
    """Give a job that is about to start on `device` the precision that the device computes fast."""
    decision = swapped(plan_of_job(job.plan), plan_of_job(job.asked), device.half, law, limit)
    if decision is not None:
        kept = {name: job.planned[name] for name in (_GROWN_FROM,) if name in job.planned}
        adopt.plan_while_queued(session, job, decision, job.planned.get("capacity_bytes"), now, **kept)


def shrink_back(session: Session, job: Job, device: Capacity, law: MemoryLaw, now: datetime.datetime) -> bool:
    """Fit a grown job to the free `device` again. False if its owner prefers to wait, or if it cannot fit."""
    policy, before = policy_of_job(job), job.planned.get(_GROWN_FROM)
    if before is None or policy.prefer is Prefer.WAIT or device.usable_bytes < before:
        return False
    kept = tuple(lever for lever in policy.levers if lever not in _NOT_CHANGED)
    policy = dataclasses.replace(policy, levers=kept, plan_ahead=True)
    request = PlanRequest(plan_of_job(job.plan), policy, law, device.half)
    request = request.knowing(plan_job.failures(attempts.of_job(session, job.id)))
    decision = first_plan(request, device.usable_bytes)
    if not isinstance(decision, Decision) or decision.prediction.high > device.free_bytes:
        return False
    adopt.plan_while_queued(session, job, decision, device.usable_bytes, now)
    return True
