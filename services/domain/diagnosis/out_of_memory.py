"""Why a device ran out of memory: too large a job, a neighbour, fragmentation, a leak or a spike."""

import sys

from services.domain.contract import DeviceKind
from services.domain.diagnosis.case import Case, Diagnosis, Finding
from services.domain.diagnosis.growth import growth_of
from services.domain.diagnosis.log.allocator_dump import Numbers
from services.domain.diagnosis.log.cause import LogSummary
from services.domain.diagnosis.log.devices import DeviceSeen
from services.domain.diagnosis.log.known_messages import Mark
from services.domain.memory.gpu_limit import free_before, limit_of_whole, overhead_bytes
from services.domain.sizes import in_mb

__all__ = ["device_seen", "why_device_ran_out"]

_USABLE = 0.9  # share of a device that a job can use when it is alone
_DISPLAY = 0.3  # share that desktops and drivers take; less proves no neighbour
_NAMED = 0.5  # the same where only a limit is known: the user may have asked for a fraction
_REFUSED = 0.5  # share of the largest refused request: a refusal below it points to a neighbour
_AFTER = 3  # lines after the error that still belong to it
_PROMISED = 0.15  # share of the limit that was allowed and yet not available
_IN_PIECES_GPU = 0.97  # in use plus requested, as a share of the limit; above it the job is too large
_IN_PIECES_SLOT = 0.75  # the same for a CPU slot, where no other allocator could help
_LATE = 50  # steps after which a job of constant size has reached its peak
_GREW = 0.1  # share of the limit: growth by less did not fill the device


def why_device_ran_out(case: Case, summary: LogSummary, numbers: Numbers) -> Finding:
    """`numbers`: merged from the trainer and the log. The caller adds the evidence."""
    seen = device_seen(summary, numbers)
    for reading in (_neighbour, _fragmentation, _changed):
        found = reading(case, summary, numbers, seen)
        if found is not None:
            return found
    return Finding(Diagnosis.TOO_LARGE, f"the device ran out of memory{_details(numbers)}: the job is too large for it")


def device_seen(summary: LogSummary, numbers: Numbers | None) -> DeviceSeen:
    """What the log says about this job's device. TensorFlow reports nothing about a CPU slot."""
    if numbers is None or _is_slot(numbers):
        return DeviceSeen()
    until = summary.cause.last + _AFTER if summary.cause else sys.maxsize
    return summary.devices.of(numbers.device, numbers.limit, until)


def _neighbour(case: Case, summary: LogSummary, numbers: Numbers, seen: DeviceSeen) -> Finding | None:
    because = _measured(case, numbers) or _seen_at_start(case, numbers, seen) or _seen_at_end(numbers, seen)
    because = because or _not_given(summary, numbers) or _not_set_up(summary, numbers, seen)
    if because is None:
        return None
    return Finding(Diagnosis.NEIGHBOUR, f"other processes hold the device's memory: {because}")


def _measured(case: Case, numbers: Numbers) -> str | None:
    """By NVML: without what others hold, the job would have fitted."""
    others = case.held_by_others
    available = case.limit or case.free_at_claim
    own = numbers.needed or max((sample.in_use for sample in case.samples), default=None) or numbers.peak
    if not others or available is None:
        return None
    if own is None:
        return f"{in_mb(others)} at the end" if others >= _DISPLAY * available else None
    alone = limit_of_whole(case.total, case.capability) if case.total else available
    if own <= _USABLE * available and own + others > _USABLE * max(alone, available):
        return f"{in_mb(others)} at the end, while this job needed {in_mb(own)} of its {in_mb(available)}"
    return None


def _seen_at_start(case: Case, numbers: Numbers, seen: DeviceSeen) -> str | None:
    capability = seen.capability or case.capability
    free = seen.free or case.free_at_claim
    total = seen.total or case.total
    is_guess = free is None
    if free is None and seen.limit is not None:  # TensorFlow's limit is less than what was free
        free = free_before(seen.limit, capability)
    if free is None or total is None or free >= total:
        return None
    taken = total - free
    if taken < (_NAMED if is_guess else _DISPLAY) * total:
        return None
    needed = numbers.needed or (seen.limit or free) + (numbers.requested or 0)
    alone = min(_USABLE * total, total - overhead_bytes(capability)) if seen.limit else _USABLE * total
    return f"{in_mb(taken)} of {in_mb(total)} were already in use at the start" if needed <= alone else None


def _seen_at_end(numbers: Numbers, seen: DeviceSeen) -> str | None:
    if seen.free_at_end is None or seen.total is None or numbers.in_use is None:
        return None
    kept = numbers.peak if _is_async(numbers) else numbers.pool  # CUDA's pool does not return memory to the device
    others = seen.total - seen.free_at_end - max(numbers.in_use, kept or 0)
    fits = numbers.needed is None or numbers.needed <= _USABLE * seen.total
    return (
        f"{in_mb(others)} of {in_mb(seen.total)} belong to others" if others > _DISPLAY * seen.total and fits else None
    )


def _not_given(summary: LogSummary, numbers: Numbers) -> str | None:
    """The allocator's limit allowed the request, but the device could not give it."""
    available = numbers.free if _is_async(numbers) else numbers.available  # no pool: all from the device
    if available and numbers.requested and numbers.limit and not _is_slot(numbers):
        if available >= max(numbers.requested, _PROMISED * numbers.limit):
            return f"the device did not have {in_mb(available)} that this job's limit allows"
        return None
    least, most = summary.least_refused, summary.most_refused
    small = numbers.in_use is None or not most or numbers.in_use < _REFUSED * most
    if least and most and least < _REFUSED * most and small:
        return f"the device refused {in_mb(most)} and then even {in_mb(least)}"
    return None


def _not_set_up(summary: LogSummary, numbers: Numbers, seen: DeviceSeen) -> str | None:
    """Too little memory for a context or a library's handle, though this job holds little itself."""
    cause = summary.cause
    if cause is None or cause.marks & Mark.DEVICE:
        return None
    if cause.marks & Mark.CONTEXT:
        return "too little was free even to open the device"
    full = numbers.in_use is not None and numbers.limit is not None and numbers.in_use >= _USABLE * numbers.limit
    own = seen.total is not None and (seen.free or seen.limit or 0) >= (1 - _DISPLAY) * seen.total
    if cause.marks & Mark.HANDLE and (cause.marks & Mark.STARVED or summary.backed_off) and not full and not own:
        return "too little was free to set up its libraries"
    return None


def _fragmentation(case: Case, summary: LogSummary, numbers: Numbers, seen: DeviceSeen) -> Finding | None:
    free, asked, needed, limit = numbers.free, numbers.requested, numbers.needed, numbers.limit or numbers.pool
    if free is None or asked is None or needed is None or limit is None or free < asked or _is_async(numbers):
        return None
    is_slot = _is_slot(numbers) or case.device_kind is DeviceKind.CPU
    if needed > (_IN_PIECES_SLOT if is_slot else _IN_PIECES_GPU) * limit:
        return None  # so close to the limit that the job is too large
    largest = f" (the largest has {in_mb(numbers.largest_free)})" if numbers.largest_free else ""
    why = f"memory is fragmented: {in_mb(free)} of {in_mb(limit)} were free, but no piece of {in_mb(asked)}{largest}"
    return Finding(Diagnosis.FRAGMENTATION, why)


def _changed(case: Case, summary: LogSummary, numbers: Numbers, seen: DeviceSeen) -> Finding | None:
    """It ran out late: either its memory grew, or one step needed more than the others."""
    growth = growth_of(case.samples)
    limit = numbers.limit or case.limit
    if growth is None or limit is None:
        return None
    if growth.is_clear and growth.bytes >= _GREW * limit:
        why = f"memory grew by {in_mb(round(growth.bytes_per_step))} a step over {growth.steps} steps until it ran out"
        return Finding(Diagnosis.LEAK, why, growth=growth)
    if growth.steps >= _LATE:
        why = f"memory was steady for {growth.steps} steps, then one step needed more than there was{_details(numbers)}"
        return Finding(Diagnosis.SPIKE, why, growth=growth)
    return None


def _is_slot(numbers: Numbers) -> bool:
    return numbers.allocator is not None and numbers.allocator.startswith("bfc_cpu")


def _is_async(numbers: Numbers) -> bool:
    return numbers.allocator is not None and numbers.allocator.startswith("gpu_async")


def _details(numbers: Numbers) -> str:
    parts = []
    if numbers.in_use is not None and numbers.limit is not None:
        parts.append(f"{in_mb(numbers.in_use)} of {in_mb(numbers.limit)} in use")
    if numbers.requested is not None:
        parts.append(f"{in_mb(numbers.requested)} requested")
    if numbers.op is not None:
        parts.append(f"by {numbers.op}")
    return f" ({', '.join(parts)})" if parts else ""
