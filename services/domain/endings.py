"""What the end of an attempt means: how it is read, and what happens next. Total: every end has one next step."""

import enum
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from services.domain.contract import EXIT_CODES, Outcome, Reason
from services.domain.states import Stop

__all__ = ["NEXT", "Diagnosis", "Ending", "Next", "read_ending", "what_next"]


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


class Next(enum.StrEnum):
    SUCCEED = "succeed"
    SMALLER = "smaller"  # ask the planner
    AGAIN = "again"  # the same plan, from the last checkpoint
    ONCE_MORE = "once_more"  # the same, unless it ended like this before
    HOLD = "hold"  # the same plan after a while
    FAIL = "fail"
    CANCEL = "cancel"
    PAUSE = "pause"


NEXT: dict[Diagnosis, Next] = {
    Diagnosis.COMPLETED: Next.SUCCEED,
    Diagnosis.INTERRUPTED: Next.AGAIN,
    Diagnosis.TOO_LARGE: Next.SMALLER,
    Diagnosis.NEIGHBOUR: Next.HOLD,
    Diagnosis.FRAGMENTATION: Next.ONCE_MORE,
    Diagnosis.LEAK: Next.ONCE_MORE,
    Diagnosis.SPIKE: Next.ONCE_MORE,
    Diagnosis.HOST: Next.ONCE_MORE,
    Diagnosis.DISK: Next.HOLD,
    Diagnosis.BUG: Next.FAIL,
    Diagnosis.UNKNOWN_KILL: Next.ONCE_MORE,
}

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
    """How an attempt ended, from what is left of it.

    `exit_status` as subprocess gives it: negative for a signal, None where nobody was there to see it. Without one,
    and without an outcome that agrees with it, no attempt has succeeded.
    """
    if outcome is not None and (exit_status == EXIT_CODES[outcome.reason] or _is_lost_but_told(exit_status, outcome)):
        return Ending(_DIAGNOSES[outcome.reason], outcome.message, outcome.reason)
    if exit_status is None:
        return Ending(Diagnosis.UNKNOWN_KILL, "the supervisor was lost, and nobody saw how the trainer ended", None)
    if _DEVICE_MEMORY.search(log_tail) and not _NOT_A_FAILURE.search(log_tail):
        return Ending(
            Diagnosis.TOO_LARGE, f"the device ran out of memory and the trainer died {_how(exit_status)}", None
        )
    if _HOST_MEMORY.search(log_tail):
        return Ending(Diagnosis.HOST, f"the host ran out of memory and the trainer died {_how(exit_status)}", None)
    if exit_status in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP):
        return Ending(Diagnosis.UNKNOWN_KILL, f"the trainer was killed {_how(exit_status)}, without a trace", None)
    if exit_status < 0:
        return Ending(Diagnosis.BUG, f"the trainer crashed {_how(exit_status)}; its log may say why", None)
    return Ending(Diagnosis.BUG, f"the trainer left no outcome and ended {_how(exit_status)}; see its log", None)


def what_next(diagnosis: Diagnosis, stop: Stop | None, earlier: Sequence[Diagnosis]) -> Next:
    """`earlier`: the diagnoses of the job's attempts before this one. A wish to stop counts, except against success."""
    usual = NEXT[diagnosis]
    if usual is Next.SUCCEED:
        return usual
    if stop is Stop.CANCEL:
        return Next.CANCEL
    if usual is Next.ONCE_MORE and diagnosis in earlier:
        usual = Next.FAIL
    if stop is Stop.PAUSE and usual not in (Next.FAIL, Next.SMALLER):
        return Next.PAUSE
    return Next.AGAIN if usual is Next.ONCE_MORE else usual


def _is_lost_but_told(exit_status: int | None, outcome: Outcome) -> bool:
    """Nobody saw the exit, but the trainer wrote down how it failed: that is evidence. Of success it is not enough."""
    return exit_status is None and outcome.reason is not Reason.COMPLETED


def _how(exit_status: int) -> str:
    if exit_status >= 0:
        return f"with exit status {exit_status}"
    try:
        return f"by {signal.Signals(-exit_status).name}"
    except ValueError:
        return f"by signal {-exit_status}"


_DEVICE_MEMORY = re.compile(r"OOM when allocating|Allocator \([^)]*\) ran out of memory trying to allocate", re.I)
_NOT_A_FAILURE = re.compile(r"The caller indicates that this is not a failure")
_HOST_MEMORY = re.compile(r"std::bad_alloc|Cannot allocate memory|MemoryError")
