"""Choose a free device for a queued job, and fit the job's plan to it."""

import dataclasses
import datetime
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services.devices.capacity import (
    KNOWN_S,
    PRESENT_S,
    Capacity,
    absent_devices,
    capacities_of,
    largest_device,
    present_devices,
)
from services.domain.contract import DeviceKind
from services.domain.jobs.states import Verb
from services.domain.jobs.waiting import Holder, Waiting, WaitKind
from services.domain.memory.law import MemoryLaw
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Prefer
from services.domain.planner.decision import Decision
from services.domain.planner.first_plan import first_plan
from services.domain.planner.ladder import ladder
from services.domain.planner.precision_swap import computed_on
from services.domain.planner.request import PlanRequest
from services.jobs import transitions
from services.planning import adopt, grow_back
from services.planning.measurements import law_for
from services.planning.plan_json import plan_of_job, policy_of_job, rung_values, waits_for_device
from services.scheduling import waiting
from services.settings import Settings
from services.store.devices import devices, leases
from services.store.models import Device, Job

__all__ = ["Devices", "Placement", "free_devices", "place"]

_RUNGS = 5  # of a ladder that is kept with each attempt


@dataclass(frozen=True)
class Placement:
    """A free device for a job. `limit_bytes`: what an attempt can have of it. `ladder`: the plans that would follow."""

    device: Device
    limit_bytes: int
    ladder: list[dict[str, Any]]


def free_devices(session: Session, settings: Settings, now: datetime.datetime) -> Sequence[Device]:
    """The devices of this host that no job has, the smallest first."""
    return devices.unleased(session, settings.host, now - datetime.timedelta(seconds=PRESENT_S))


class Devices:
    """The devices as they are now, read once for all jobs. `free`: this host's; `present`: those of all hosts."""

    def __init__(self, session: Session, settings: Settings, now: datetime.datetime) -> None:
        self.session = session
        self.now = now
        self._is_private = settings.private_jobs
        self.free = free_devices(session, settings, now)
        self.capacities = {capacity.device_id: capacity for capacity in capacities_of(self.free)}
        self.present = capacities_of(present_devices(session, now))
        self._laws: dict[tuple[str, str, str | None], MemoryLaw] = {}

    def law(self, job: Job, capacity: Capacity) -> MemoryLaw:
        key = (job.model, capacity.kind, capacity.hardware)
        if key not in self._laws:
            self._laws[key] = law_for(self.session, [job.model], capacity.kind, capacity.hardware)
        return self._laws[key]

    @functools.cached_property
    def _holders(self) -> Sequence[tuple[str, int, int]]:
        return leases.holders(self.session)

    def holders(self, job: Job) -> Mapping[str, Holder]:
        """The job on each leased device, as far as the owner of `job` may know."""
        return {
            device_id: Holder(None if self._is_private and owner_id != job.owner_id else job_id)
            for device_id, job_id, owner_id in self._holders
        }

    def possible(self, job: Job) -> list[Capacity]:
        """The devices that the job may be planned for. Those with a problem count during its first day in the queue."""
        is_patient = job.queued_at > self.now - datetime.timedelta(seconds=KNOWN_S)
        return [capacity for capacity in self.present if is_patient or capacity.problem is None]


def place(found: Devices, job: Job) -> Placement | None:
    """Choose a free device: the smallest that holds the plan, or the largest where the job starts as asked.

    None where the job has to wait, or has just failed. Writes to the job what it waits for, a plan that fits the
    devices, or the failure.
    """
    device = _largest_as_asked(found, job) if _starts_as_asked(job) else _fit_and_choose(found, job)
    if device is None:
        return None
    limit = _limit(device, found.capacities[device.id])
    return Placement(device, limit, _ladder(found, job, device, limit))


def _largest_as_asked(found: Devices, job: Job) -> Device | None:
    """Whatever the prediction says, the job has its best chance on the largest device."""
    fitting = [device for device in found.free if device.total_bytes >= job.min_memory_bytes]
    _wait(found, job, None if fitting else Waiting.for_size(job.min_memory_bytes))
    return fitting[-1] if fitting else None


def _fit_and_choose(found: Devices, job: Job) -> Device | None:
    if not _replan_to_fit(found, job):
        return None
    device = _holding(found, job) or _shrink_back_to_largest_free(found, job)
    if device is None:
        why = waiting.for_a_device(
            found.free,
            found.possible(job),
            found.holders(job),
            lambda capacity: _fits_whole(job, capacity, found.law(job, capacity)),
        )
        _wait(found, job, why)
        return None
    capacity = found.capacities[device.id]
    limit = _limit(device, capacity)
    grow_back.swap_precision(found.session, job, capacity, limit, found.law(job, capacity), found.now)
    grow_back.grow(found.session, job, capacity, limit, found.law(job, capacity), found.now)
    return device


def _replan_to_fit(found: Devices, job: Job) -> bool:
    """Make the job's plan fit the largest device there is; False where it has to wait for another, or has failed."""
    largest = largest_device(found.possible(job), job.min_memory_bytes)
    if largest is None:
        _wait(found, job, waiting.for_repair(found.present) or Waiting.for_size(job.min_memory_bytes))
        return False
    law = found.law(job, largest)
    if _fits_whole(job, largest, law):
        return True
    policy = dataclasses.replace(policy_of_job(job), plan_ahead=True)
    request = PlanRequest(_plan_on(job, largest), policy, law, largest.half)
    decision = first_plan(request, largest.usable_bytes)
    if policy.prefer is Prefer.WAIT or not isinstance(decision, Decision):
        absent = _absent_that_fits_whole(found, job)
        if absent is not None:
            _wait(found, job, waiting.for_host(absent))
            return False
    if isinstance(decision, Decision):
        adopt.plan_while_queued(found.session, job, decision, largest.usable_bytes, found.now)
        return True
    if waits_for_device(job):
        _wait(found, job, Waiting(WaitKind.LARGER_DEVICE, detail=decision.reason))
        return False
    transitions.move(found.session, job, Verb.FAIL, found.now, reason=decision.reason)
    return False


def _holding(found: Devices, job: Job) -> Device | None:
    return next((device for device in found.free if _fits_now(found.capacities[device.id], job, found)), None)


def _shrink_back_to_largest_free(found: Devices, job: Job) -> Device | None:
    """The largest free device, where a job that has grown fits it again after shrinking back."""
    largest = largest_device(list(found.capacities.values()), job.min_memory_bytes)
    if largest is None or not grow_back.shrink_back(found.session, job, largest, found.law(job, largest), found.now):
        return None
    return next(device for device in found.free if device.id == largest.device_id)


def _absent_that_fits_whole(found: Devices, job: Job) -> Capacity | None:
    """A device that would hold the job, if its host came back."""
    for capacity in capacities_of(absent_devices(found.session, found.now)):
        if _fits_whole(job, capacity, found.law(job, capacity)):
            return capacity
    return None


def _ladder(found: Devices, job: Job, device: Device, limit: int) -> list[dict[str, Any]]:
    """The next smaller plans, should the job run out of the device's memory, by what is known now."""
    capacity = found.capacities[device.id]
    request = PlanRequest(plan_of_job(job.asked), policy_of_job(job), found.law(job, capacity), capacity.half)
    rungs = ladder(request, [limit], below=plan_of_job(job.plan), most=_RUNGS)
    return [rung_values(rung, [device.id]) for rung in rungs]


def _starts_as_asked(job: Job) -> bool:
    return job.attempts == 0 and not policy_of_job(job).plan_ahead


def _fits_now(capacity: Capacity, job: Job, found: Devices) -> bool:
    """Whether the free memory of the device is enough now."""
    needed = _needed(job, capacity, found.law(job, capacity))
    return capacity.size_bytes >= job.min_memory_bytes and capacity.free_bytes >= needed


def _fits_whole(job: Job, capacity: Capacity, law: MemoryLaw) -> bool:
    """Whether the whole device would hold the job's plan. A device that is known to run out does not."""
    known = law.predict(_plan_on(job, capacity)).low
    fits = _needed(job, capacity, law) <= capacity.usable_bytes and known <= capacity.usable_bytes
    return fits and capacity.size_bytes >= job.min_memory_bytes


def _plan_on(job: Job, capacity: Capacity) -> Plan:
    return computed_on(plan_of_job(job.plan), plan_of_job(job.asked), capacity.half)


def _needed(job: Job, device: Capacity, law: MemoryLaw) -> int:
    """The predicted peak with its margin, in the precision that the device would compute in.

    A plan that only may fit is predicted to need more than its device has. It counts as that device's size: otherwise
    it could never start.
    """
    plan = _plan_on(job, device)
    predicted = law.predict(plan).high
    capacity = job.planned.get("capacity_bytes") if plan.precision in (job.plan["precision"], device.half) else None
    return min(predicted, capacity) if capacity else predicted


def _limit(device: Device, capacity: Capacity) -> int:
    """What an attempt can have: of a GPU, what others have left of it."""
    return capacity.free_bytes if device.kind == DeviceKind.GPU else capacity.usable_bytes


def _wait(found: Devices, job: Job, why: Waiting | None) -> None:
    transitions.note_waiting(job, why, found.now)
