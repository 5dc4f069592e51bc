"""Say in words which mistake the results of a training mean, and what to do.

A false alarm is worse than silence: each check asks for enough steps, evaluations and boxes, and its thresholds are
explained beside it (docs/doctor.md lists them). Values in, values out.
"""

from services.domain.doctor import boxes, learning_rate, losses, metrics
from services.domain.doctor.advice import Advice, Code
from services.domain.doctor.training import Training

__all__ = ["examine"]

_EMPTY_RESULT = {Code.MAP_ZERO, Code.TRAINED_TOO_BRIEFLY}
_WEAK_RESULT = _EMPTY_RESULT | {Code.ONE_CLASS_ONLY, Code.BOXES_ELSEWHERE, Code.MASKS_DO_NOT_FIT}
# What a mistake explains need not be said as another one.
_EXPLAINS: dict[Code, set[Code]] = {
    Code.LOSS_NOT_FINITE: _WEAK_RESULT | {Code.MAP_MISSING, Code.MEMORISED},
    Code.LOSS_EXPLODED: _WEAK_RESULT | {Code.MEMORISED},
    Code.VALIDATION_WITHOUT_OBJECTS: _EMPTY_RESULT,
    Code.LABELS_SHIFTED: _EMPTY_RESULT | {Code.LEARNING_RATE_HIGH, Code.LEARNING_RATE_LOW},
    Code.LABELS_MIXED_UP: _EMPTY_RESULT | {Code.LEARNING_RATE_HIGH, Code.LEARNING_RATE_LOW},
    Code.BOXES_ELSEWHERE: _EMPTY_RESULT | {Code.LEARNING_RATE_HIGH, Code.LEARNING_RATE_LOW},
    Code.LEARNING_RATE_HIGH: _EMPTY_RESULT,
    Code.LEARNING_RATE_LOW: _EMPTY_RESULT,
    Code.LOSS_FLAT: _WEAK_RESULT,
    Code.ANCHORS_TOO_LARGE: {Code.MAP_ZERO},
    Code.ONE_CLASS_ONLY: _EMPTY_RESULT,
}
_ORDER = list(Code)


def examine(training: Training) -> tuple[Advice, ...]:
    """The mistakes that this training shows, the one that explains most first; empty where none is sure."""
    cleaned = training.cleaned()
    found = {one.code: one for check in _CHECKS for one in check(cleaned)}
    explained = {code for one in found for code in _EXPLAINS.get(one, ())}
    return tuple(found[code] for code in _ORDER if code in found and code not in explained)


_CHECKS = (losses.check, learning_rate.check, boxes.check, metrics.check)
