"""Why a training ended, from its exit status first and its log second.

Many harmless lines look fatal, so the log is not read where the exit status says success.
"""

import re
import signal

from services.domain.contract import EXIT_CODES, AllocatorStats, DeviceKind, Reason
from services.domain.diagnosis.case import Case, Diagnosis, Evidence, Finding
from services.domain.diagnosis.log.allocator_dump import Numbers, is_of_host
from services.domain.diagnosis.log.cause import Cause, LogSummary, summarised
from services.domain.diagnosis.log.known_messages import Mark
from services.domain.diagnosis.log.scan import Line, marked_lines
from services.domain.diagnosis.out_of_memory import device_seen, why_device_ran_out

__all__ = ["REASONS", "diagnose", "how_it_ended", "signal_of"]

_LONGEST_TEXT = 500
_ABORTS = (signal.SIGABRT, signal.SIGBUS)
_KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

_STARVED = re.compile(r"ALLOC_FAILED|RESOURCE_EXHAUSTED|out of memory", re.I)

# The reason by our trainer's exit status alone. Not 0, which alone is no success, nor 1, Python's status for any error.
REASONS = {status: reason for reason, status in EXIT_CODES.items() if status > 1}
_BY_REASON = {
    Reason.STOPPED: Diagnosis.INTERRUPTED,
    Reason.HOST_MEMORY: Diagnosis.HOST,
    Reason.DISK_FULL: Diagnosis.DISK,
    Reason.BAD_DEVICE: Diagnosis.DEVICE,
}


def diagnose(case: Case) -> Finding:
    """The finding for any case; no log makes this raise. Reads the log once, in linear time."""
    if case.exit_status == 0:
        return Finding(None, "nothing failed: the exit status is 0, and warnings in the log do not count")
    summary = summarised(marked_lines(case.log))
    said = case.reason or (case.outcome.reason if case.outcome else None)
    if said is not None and said is not Reason.COMPLETED:
        return _as_reported(case, summary, said)
    found = _from_log(case, summary)
    if found is None and case.exit_status in REASONS:
        found = _as_reported(case, summary, REASONS[case.exit_status])
    return found or _unexplained(case, summary)


def signal_of(exit_status: int | None) -> int | None:
    """The signal that ended the process; None where none did. -9 and the shell's 137 both mean SIGKILL."""
    if exit_status is None or 0 <= exit_status <= 128 or exit_status > 128 + 64:
        return None
    return -exit_status if exit_status < 0 else exit_status - 128


def how_it_ended(exit_status: int | None) -> str:
    number = signal_of(exit_status)
    if exit_status is None:
        return "with an unknown exit status"
    if number is None:
        return f"with exit status {exit_status}"
    try:
        return f"by {signal.Signals(number).name}"
    except ValueError:
        return f"by signal {number}"


def _as_reported(case: Case, summary: LogSummary, reason: Reason) -> Finding:
    """The trainer reported the kind of end; the log and the samples add details."""
    cause = summary.cause
    if cause is not None and not _goes_with(cause, reason):
        cause = summary.cause = None  # another error, which the training survived
    if reason is Reason.ERROR and cause is not None and cause.is_of_device:
        return _from_device(case, summary, cause)
    if cause is not None and cause.marks & Mark.FAULT:
        return _device_failed(summary, cause)
    if reason is Reason.DEVICE_MEMORY:
        if cause is not None:
            return _from_device(case, summary, cause)
        numbers = _numbers(case, None)
        return _with_evidence(why_device_ran_out(case, summary, numbers), summary, numbers)
    words = f"the trainer reported: {reason.replace('_', ' ')}"
    return _with_evidence(Finding(_BY_REASON.get(reason, Diagnosis.BUG), words), summary)


def _goes_with(cause: Cause, reason: Reason) -> bool:
    if reason is Reason.DEVICE_MEMORY:
        return cause.is_of_device
    if reason is Reason.HOST_MEMORY:
        return bool(cause.marks & Mark.HOST) or cause.is_of_device
    if reason is Reason.ERROR and (cause.is_of_device or cause.marks & Mark.FAULT):
        return not cause.survived  # an exception that does not name the cause; the log does
    if reason is Reason.BAD_DEVICE:
        return bool(cause.marks & Mark.FAULT)
    return bool(cause.marks & (Mark.DISK if reason is Reason.DISK_FULL else Mark.ERROR))


def _from_log(case: Case, summary: LogSummary) -> Finding | None:
    """The finding by the log; None where nothing in it explains the end."""
    cause, killed = summary.cause, signal_of(case.exit_status) in _KILLS
    if case.cgroup_oom_kills and (killed or cause is None):
        why = f"the host ran out of memory, and its kernel killed {case.cgroup_oom_kills} of the job's processes"
        return _with_evidence(Finding(Diagnosis.HOST, why), summary)
    if cause is None or _is_past(case, cause):
        return _from_hints(case, summary)
    if cause.marks & Mark.DISK:
        return _with_evidence(Finding(Diagnosis.DISK, "the disk is full"), summary)
    if cause.marks & Mark.HOST:
        return _with_evidence(Finding(Diagnosis.HOST, "the host ran out of memory"), summary)
    if cause.marks & Mark.FAULT:
        return _device_failed(summary, cause)
    if cause.is_of_device:
        return _from_device(case, summary, cause)
    if cause.marks & (Mark.KILLED | Mark.STOPPED) or killed or case.exit_status is None:
        return _from_hints(case, summary)
    return _with_evidence(
        Finding(Diagnosis.BUG, f"an error unrelated to memory or disk: {_text(cause.lines[-1])}"), summary
    )


def _is_past(case: Case, cause: Cause) -> bool:
    """Whether training survived the cause, and something else ended it. After an abort, only a retry proves that."""
    number = signal_of(case.exit_status)
    if cause.marks & Mark.ENDED or (case.exit_status is not None and number is None):
        return False
    return cause.retried if number in _ABORTS else cause.survived


def _from_device(case: Case, summary: LogSummary, cause: Cause) -> Finding:
    numbers = _numbers(case, cause)
    if _is_host(case, cause, numbers):
        why = "the host ran out of memory: its own allocator failed"
        return _with_evidence(Finding(Diagnosis.HOST, why), summary, numbers)
    found = why_device_ran_out(case, summary, numbers)
    if cause.marks & Mark.HANDLE and not cause.marks & (Mark.DEVICE | Mark.CONTEXT):
        starved = found.diagnosis is Diagnosis.NEIGHBOUR or any(_STARVED.search(line.text) for line in cause.lines)
        if summary.mismatch or not starved:
            found = Finding(Diagnosis.BUG, f"a library could not be set up: {_text(cause.lines[0])}")
    return _with_evidence(found, summary, numbers)


def _device_failed(summary: LogSummary, cause: Cause) -> Finding:
    return _with_evidence(Finding(Diagnosis.DEVICE, f"the device failed: {_text(cause.lines[0])}"), summary)


def _from_hints(case: Case, summary: LogSummary) -> Finding | None:
    """The finding where no line states the end, by its signal and by hints; None where there are none."""
    if summary.cause and _is_past(case, summary.cause):
        summary.cause = None
    cause, number = summary.cause, signal_of(case.exit_status)
    marks = cause.marks if cause else 0
    how = how_it_ended(case.exit_status)
    if marks & Mark.STOPPED:
        return _with_evidence(Finding(Diagnosis.INTERRUPTED, "it was told to stop"), summary)
    if number == signal.SIGKILL or marks & Mark.KILLED:
        if summary.pressure:
            why = "it was killed right after it took much of the host's memory"
            return _with_evidence(Finding(Diagnosis.HOST, why), summary)
        return _with_evidence(Finding(Diagnosis.UNKNOWN_KILL, f"stopped unexpectedly ({how}, cause unknown)"), summary)
    if number in _KILLS:
        return _with_evidence(Finding(Diagnosis.UNKNOWN_KILL, f"stopped unexpectedly ({how}, cause unknown)"), summary)
    if case.exit_status is None:
        return _with_evidence(
            Finding(
                Diagnosis.UNKNOWN_KILL, "stopped unexpectedly (cause unknown): no exit status, and nothing in the log"
            ),
            summary,
        )
    if cause is None and number is None and summary.least_refused:
        numbers = _numbers(case, None)
        return _with_evidence(why_device_ran_out(case, summary, numbers), summary, numbers)
    return None


def _unexplained(case: Case, summary: LogSummary) -> Finding:
    how = how_it_ended(case.exit_status)
    verb = "crashed" if signal_of(case.exit_status) else "failed"
    return _with_evidence(
        Finding(Diagnosis.BUG, f"it {verb} ({how}); the log shows no memory or disk problem"), summary
    )


def _is_host(case: Case, cause: Cause, numbers: Numbers) -> bool:
    if (numbers.allocator or "").startswith("bfc_cpu"):
        if case.device_kind is DeviceKind.GPU:
            return True
        if numbers.requested and (numbers.available or 0) >= numbers.requested:
            return True  # the slot's limit allowed the request, so the host's memory was missing
    if case.device_kind is DeviceKind.CPU and case.limit and case.reason is Reason.DEVICE_MEMORY:
        return False  # a slot: the trainer set its limit, which includes oneDNN's allocator
    of_host = is_of_host(numbers)
    if numbers.allocator is None and numbers.device is not None and of_host:
        # A CPU device is its slot where that has a limit, else the host.
        return not (numbers.limit or (case.device_kind is DeviceKind.CPU and case.limit))
    return bool(of_host)


def _numbers(case: Case, cause: Cause | None) -> Numbers:
    """The trainer's own numbers, with gaps filled from the log."""
    logged = cause.numbers if cause else Numbers()
    said = case.outcome.allocator if case.outcome else AllocatorStats()
    counted = Numbers(
        limit=said.limit,
        in_use=said.in_use,
        peak=said.peak,
        requested=said.requested,
        op=said.requested_op,
        allocator=said.allocator,
    )
    return counted.merged(logged).merged(Numbers(limit=case.limit))


def _with_evidence(found: Finding, summary: LogSummary, numbers: Numbers | None = None) -> Finding:
    lines = list(summary.cause.lines) if summary.cause else []
    if found.diagnosis in (Diagnosis.NEIGHBOUR, Diagnosis.FRAGMENTATION, Diagnosis.TOO_LARGE) and numbers:
        lines += summary.statistics.values()
    if found.diagnosis is Diagnosis.NEIGHBOUR:
        lines += summary.backed_off[:1] + summary.backed_off[-1:]
        lines += [Line(number, text, Mark.SEEN) for number, text in device_seen(summary, numbers).lines.items()]
    if found.diagnosis is Diagnosis.HOST and summary.pressure:
        lines.append(summary.pressure)
    if found.diagnosis is Diagnosis.BUG and summary.mismatch:
        lines.append(summary.mismatch)
    kept = {line.number: Evidence(line.number, _text(line)) for line in lines if line.text}
    evidence = tuple(kept[number] for number in sorted(kept))
    return Finding(found.diagnosis, found.why, evidence, numbers or found.numbers, found.growth)


def _text(line: Line) -> str:
    text = line.text.strip()
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
