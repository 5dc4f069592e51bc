"""What the doctor says: a mistake by its code, what is seen of it, and what to do."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Advice", "Code", "Severity", "figure"]


class Code(enum.StrEnum):
    """In the order in which they are said: what explains others comes first."""

    LOSS_NOT_FINITE = "loss_not_finite"
    LOSS_EXPLODED = "loss_exploded"
    VALIDATION_WITHOUT_OBJECTS = "validation_without_objects"
    MAP_MISSING = "map_missing"
    LABELS_SHIFTED = "labels_shifted"
    LABELS_MIXED_UP = "labels_mixed_up"
    BOXES_ELSEWHERE = "boxes_elsewhere"
    LEARNING_RATE_HIGH = "learning_rate_high"
    LEARNING_RATE_LOW = "learning_rate_low"
    LOSS_FLAT = "loss_flat"
    ANCHORS_TOO_LARGE = "anchors_too_large"
    ONE_CLASS_ONLY = "one_class_only"
    MASKS_DO_NOT_FIT = "masks_do_not_fit"
    MEMORISED = "memorised"
    TRAINED_TOO_BRIEFLY = "trained_too_briefly"
    MAP_ZERO = "map_zero"


class Severity(enum.StrEnum):
    ERROR = "error"  # the result is of no use
    WARNING = "warning"  # it could be better


@dataclass(frozen=True)
class Advice:
    code: Code
    severity: Severity
    seen: str  # one sentence, with the figures
    remedy: str  # one sentence: what to do
    evidence: Mapping[str, float] = field(default_factory=dict)

    def to_values(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "code": str(self.code),
            "severity": str(self.severity),
            "seen": self.seen,
            "remedy": self.remedy,
            "evidence": dict(self.evidence),
        }


def figure(value: float) -> str:
    """Three digits, as people write them: "0.005", "2.31", "12,300", "4.1e+08"."""
    if 1000 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"
