"""The input of a diagnosis (Case) and its result (Finding)."""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.domain.contract import DeviceKind, Outcome, Reason
from services.domain.diagnosis.growth import Growth, Sample
from services.domain.diagnosis.log.allocator_dump import Numbers

__all__ = ["Case", "Diagnosis", "Evidence", "Finding"]


class Diagnosis(enum.StrEnum):
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"  # stopped on request, by its owner or by the host
    TOO_LARGE = "too_large"
    NEIGHBOUR = "neighbour"
    FRAGMENTATION = "fragmentation"
    LEAK = "leak"
    SPIKE = "spike"
    HOST = "host"
    DISK = "disk"
    DEVICE = "device"  # the device failed, or could not be started; memory was not the problem
    BUG = "bug"
    UNKNOWN_KILL = "unknown_kill"


@dataclass(frozen=True)
class Case:
    """All that is known about the end of an attempt. Any field may be missing; memory is in bytes.

    `exit_status` as subprocess or a shell gives it: -9 and 137 both mean SIGKILL. None where no process saw it.
    """

    exit_status: int | None = None
    log: Iterable[bytes] = ()  # in chunks of any size: the whole log or its last part
    outcome: Outcome | None = None
    samples: Sequence[Sample] = ()  # of the device's memory, from this attempt
    device_kind: DeviceKind | None = None
    limit: int | None = None  # what the attempt's allocator may have
    total: int | None = None  # the memory of the GPU
    free_at_claim: int | None = None  # how much of it was free when the job was claimed
    capability: tuple[int, int] | None = None  # compute capability of the GPU
    held_by_others: int | None = None  # what other processes hold at the end
    cgroup_oom_kills: int | None = None  # increase of the memory cgroup's counter while it ran
    reason: Reason | None = None  # what our trainer reported, by its outcome or its exit status


@dataclass(frozen=True)
class Evidence:
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    diagnosis: Diagnosis | None  # None: nothing failed
    why: str  # a sentence for people
    evidence: tuple[Evidence, ...] = ()  # the lines of the log that it is based on
    numbers: Numbers = field(default_factory=Numbers)
    growth: Growth | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the diagnosis."""
        evidence = [{"line": one.line, "text": one.text} for one in self.evidence]
        return {"why": self.why, "evidence": evidence, "figures": self.figures()}

    def figures(self) -> dict[str, Any]:
        """The numbers that are known, ready for JSON."""
        found = {
            **vars(self.numbers),
            "free": self.numbers.free,
            "bytes_per_step": self.growth.bytes_per_step if self.growth else None,
            "growth_steps": self.growth.steps if self.growth else None,
        }
        return {name: value for name, value in found.items() if value is not None}
