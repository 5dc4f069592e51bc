"""Can any known device ever hold a job? Checked before a job is accepted, and for an estimate."""

from services.domain.jobs.waiting import Waiting, WaitKind
from services.domain.plan.policy import Policy
from services.domain.planner.decision import Decision, GiveUp
from services.domain.planner.first_plan import first_plan
from services.domain.planner.request import PlanRequest
from services.domain.sizes import in_mb
from services.errors import Fault
from services.jobs.check_request import CheckedRequest
from services.planning.plan_job import FirstPlan

__all__ = ["awaited", "fault"]

_OR_WAIT = 'or send "device": {"wait": true} to wait for such a device'


def fault(checked: CheckedRequest, first: FirstPlan) -> Fault | None:
    """Why no known device can hold the job; None if one can, if none is known yet, or if the job asks to wait."""
    return None if checked.waits else _fault(checked, first)


def awaited(checked: CheckedRequest, first: FirstPlan) -> Waiting | None:
    """What a job that asked to wait for a device waits for; None where a known device can hold it."""
    if not checked.waits or _fault(checked, first) is None:
        return None
    if isinstance(first.decision, GiveUp):
        return Waiting(WaitKind.LARGER_DEVICE, detail=first.decision.reason)
    return Waiting.for_size(checked.min_memory_bytes)


def _fault(checked: CheckedRequest, first: FirstPlan) -> Fault | None:
    # A device that never reported its memory may hold any job.
    sizes = [device.size_bytes or checked.min_memory_bytes for device in first.known]
    if sizes and max(sizes) < checked.min_memory_bytes:
        device = max(first.known, key=lambda device: device.size_bytes)
        largest = f"the largest, {device.name} ({device.device_id}), has {in_mb(device.size_bytes)}"
        wanted = in_mb(checked.min_memory_bytes)
        return Fault("device.min_memory_mb", f"no device has {wanted}: {largest}. Ask for less, {_OR_WAIT}")
    if not isinstance(first.decision, GiveUp):
        return None
    reason = f"no device can hold this job. {first.decision.reason}"
    freely = first_plan(PlanRequest(checked.asked, Policy(), first.law, first.half), first.capacity)
    if isinstance(freely, Decision) and freely.changes:
        return Fault("policy", f"{reason} With every change allowed it fits: {freely.summary} Allow more, {_OR_WAIT}")
    return Fault("model", f"{reason} Choose a smaller model, image size or batch size, {_OR_WAIT}")
