"""What goes into a diagnosis and what comes out of it."""

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


@dataclass(frozen=True)
class Case:
    """All that is known of an end. Everything may be missing; memory is in bytes.

    `exit_status` as subprocess or a shell gives it: -9 and 137 both are SIGKILL; None where nobody saw it.
    """

    exit_status: int | None = None
    log: Iterable[bytes] = ()  # in pieces of any size, from its beginning or from somewhere near its end
    outcome: Outcome | None = None
    samples: Sequence[Sample] = ()  # of the device's memory, this attempt's only
    device_kind: DeviceKind | None = None
    limit: int | None = None  # what the device or the slot has for the job
    free_at_claim: int | None = None  # … of which so much was free when the job got it
    held_by_others: int | None = None  # what other processes hold of the device at the end
    cgroup_oom_kills: int | None = None  # by how much the memory cgroup's counter went up
    reason: Reason | None = None  # what our own trainer said of itself, by its outcome or its exit status


@dataclass(frozen=True)
class Evidence:
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    diagnosis: Diagnosis | None  # None: nothing failed
    why: str  # a sentence for people
    evidence: tuple[Evidence, ...] = ()  # the lines of the log that were relied on
    numbers: Numbers = field(default_factory=Numbers)
    growth: Growth | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it, without the diagnosis."""
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
