"""What the end of an attempt means: how it is read from what is left. What is done about it: remedies.py."""

import enum
import re
import signal
from dataclasses import dataclass

from services.domain.contract import EXIT_CODES, Outcome, Reason

__all__ = ["Diagnosis", "Ending", "read_ending"]


class Diagnosis(enum.StrEnum):
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"  # told to stop, by its owner or by the host
    TOO_LARGE = "too_large"
    NEIGHBOUR = "neighbour"
    FRAGMENTATION = "fragmentation"
    LEAK = "leak"
    SPIKE = "spike"
    HOST = "host"
    DISK = "disk"
    BUG = "bug"
    UNKNOWN_KILL = "unknown_kill"


_DIAGNOSES: dict[Reason, Diagnosis] = {
    Reason.COMPLETED: Diagnosis.COMPLETED,
    Reason.STOPPED: Diagnosis.INTERRUPTED,
    Reason.DEVICE_MEMORY: Diagnosis.TOO_LARGE,
    Reason.HOST_MEMORY: Diagnosis.HOST,
    Reason.DISK_FULL: Diagnosis.DISK,
    Reason.NAN_LOSS: Diagnosis.BUG,
    Reason.BAD_SPEC: Diagnosis.BUG,
    Reason.BAD_CONFIG: Diagnosis.BUG,
    Reason.BAD_DATASET: Diagnosis.BUG,
    Reason.BAD_CHECKPOINT: Diagnosis.BUG,
    Reason.BAD_DEVICE: Diagnosis.BUG,
    Reason.ERROR: Diagnosis.BUG,
}


@dataclass(frozen=True)
class Ending:
    diagnosis: Diagnosis
    message: str
    reason: Reason | None  # None: the trainer could not say


def read_ending(exit_status: int | None, outcome: Outcome | None, log_tail: str = "") -> Ending:
    """How an attempt ended, from what is left of it: its outcome, else its exit status, else its log.

    `exit_status` as subprocess gives it: negative for a signal, None where nobody was there to see it. Only an outcome
    that says so and the exit status 0 together are a success.
    """
    if outcome is not None and _is_believed(outcome, exit_status):
        return Ending(_DIAGNOSES[outcome.reason], outcome.message, outcome.reason)
    if exit_status is None:
        return Ending(Diagnosis.UNKNOWN_KILL, "the supervisor was lost, and nobody saw how the trainer ended", None)
    how = _how(exit_status)
    reason = _REASONS.get(exit_status)
    if reason is not None:  # a full disk, say, has no room for an outcome
        return Ending(_DIAGNOSES[reason], f"the trainer left no outcome and ended {how}, which means {reason}", reason)
    for diagnosis, what, pattern in _LOGGED:
        if any(pattern.search(line) and not _NOT_A_FAILURE.search(line) for line in log_tail.splitlines()):
            return Ending(diagnosis, f"{what} and the trainer ended {how}", None)
    if exit_status in _KILLS:
        return Ending(Diagnosis.UNKNOWN_KILL, f"the trainer was killed {how}, without a trace", None)
    if exit_status < 0:
        return Ending(Diagnosis.BUG, f"the trainer crashed {how}; its log may say why", None)
    if outcome is not None:
        return Ending(Diagnosis.BUG, f"the trainer said {outcome.reason} and ended {how}; see its log", None)
    return Ending(Diagnosis.BUG, f"the trainer left no outcome and ended {how}; see its log", None)


def _is_believed(outcome: Outcome, exit_status: int | None) -> bool:
    """A failure that the trainer wrote down is evidence, though nobody saw its exit or it died while leaving."""
    if outcome.reason is Reason.COMPLETED:
        return exit_status == EXIT_CODES[Reason.COMPLETED]
    return exit_status != EXIT_CODES[Reason.COMPLETED]


def _how(exit_status: int) -> str:
    if exit_status >= 0:
        return f"with exit status {exit_status}"
    try:
        return f"by {signal.Signals(-exit_status).name}"
    except ValueError:
        return f"by signal {-exit_status}"


_KILLS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT)

# What a status says by itself. Not 0, which alone is no success, nor 1, which Python gives for anything.
_REASONS = {status: reason for reason, status in EXIT_CODES.items() if status > 1}

_LOGGED = (
    (
        Diagnosis.TOO_LARGE,
        "the device ran out of memory",
        re.compile(
            r"OOM when allocating|Allocator \([^)]*\) ran out of memory trying to allocate|cuMemAllocAsync failed"
            r"|CU(DNN|BLAS)_STATUS_ALLOC_FAILED|Dst tensor is not initialized",
            re.I,
        ),
    ),
    (Diagnosis.DISK, "the disk is full", re.compile(r"No space left on device")),
    (
        Diagnosis.HOST,
        "the host ran out of memory",
        re.compile(r"std::bad_alloc|Cannot allocate memory|\bMemoryError\b"),
    ),
)
_NOT_A_FAILURE = re.compile(r"The caller indicates that this is not a failure")
