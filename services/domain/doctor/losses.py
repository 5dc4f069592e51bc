"""Mistakes that the training loss shows."""

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise

from services.domain.doctor.advice import Advice, Code, Severity, figure
from services.domain.doctor.training import Point, Training, median
from services.domain.sizes import counted

__all__ = ["check", "has_exploded", "is_flat"]

_FEWEST_POINTS = 20  # reports of the loss; a median of less says little
_ENDS = 0.1  # the share of a series that is its beginning or its end

# The three families begin between 1 and 10 and fall. A batch may be ten times the others, a tenth of a training is not.
_EXPLODED = 10.0  # times the beginning, and times the lowest part
_EXPLODED_TO = 20.0  # at least: from 0.1 to 1, as after a warm start, is no explosion
_ABSURD = 1e4  # exploded before the first report

# A loss has not moved where its end is its beginning: within a few percent, and without a fall that its noise lets be
# seen. Both are needed: EfficientDet-D0 from random weights falls by 1 % in its first 200 steps, with 6 standard errors
# (recorded on `shapes`). Some trainings learn late, so half of the steps must be done, or very many.
_FLAT = 0.03  # of the loss
_STANDARD_ERRORS = 2.0
_STEPS_TO_MOVE = 500  # after the warm-up
_STEPS_TO_MOVE_UNSEEN = 1_000  # where no evaluation confirms it
_VERY_MANY_STEPS = 5_000
_POOR = 0.05  # mAP: a warm start may keep its loss, and be good


def check(training: Training) -> Iterator[Advice]:
    if training.lost_numbers:
        yield _not_finite(training)
    elif has_exploded(training):
        yield _exploded(training)
    elif is_flat(training):
        yield _flat(training)


def has_exploded(training: Training) -> bool:
    loss = training.loss
    if len(loss) < _FEWEST_POINTS:
        return False
    first, last = _ends(loss)
    if last >= _ABSURD:
        return True
    lowest = min(median(loss[start : start + _width(loss)]) for start in range(len(loss) - _width(loss) + 1))
    return last >= _EXPLODED_TO and last >= _EXPLODED * max(abs(first), abs(lowest))


def is_flat(training: Training) -> bool:
    loss = training.loss
    judged = [point for point in loss if point.step >= training.warmed_up_at]
    if len(judged) < _FEWEST_POINTS or training.images_seen < training.fewest_images:
        return False
    if not training.is_half_way and training.step < _VERY_MANY_STEPS:
        return False
    steps = judged[-1].step - judged[0].step
    if training.newest_map is None:
        if training.is_warm or steps < _STEPS_TO_MOVE_UNSEEN:
            return False
    elif training.newest_map >= _POOR or steps < _STEPS_TO_MOVE:
        return False
    return _stays(loss)


def _stays(loss: Sequence[Point]) -> bool:
    """Compares the first and the last third: their means, by what the differences within them allow."""
    values = [point.value for point in loss]
    third = len(values) // 3
    first, last = values[:third], values[-third:]
    fall = statistics.fmean(first) - statistics.fmean(last)
    error = math.sqrt((_variance(first) + _variance(last)) / third)
    scale = abs(statistics.fmean(values))
    begins_there = abs(statistics.median(values[:5]) - statistics.median(values)) <= max(_FLAT * scale, _noise(values))
    return (
        0 < scale < math.inf and begins_there and -_FLAT * scale <= fall <= min(_FLAT * scale, _STANDARD_ERRORS * error)
    )


def _variance(values: Sequence[float]) -> float:
    centre = statistics.fmean(values)
    return statistics.fmean((value - centre) * (value - centre) for value in values)


def _noise(values: Sequence[float]) -> float:
    """How far a batch's loss is from the next one's, as a rule."""
    return statistics.median(abs(after - before) for before, after in pairwise(values))


def _width(loss: Sequence[Point]) -> int:
    return max(5, round(_ENDS * len(loss)))


def _ends(loss: Sequence[Point]) -> tuple[float, float]:
    return median(loss[: _width(loss)]), median(loss[-_width(loss) :])


def _not_finite(training: Training) -> Advice:
    seen = "The loss or the weights became infinite or no number"
    evidence: dict[str, float] = {"step": training.step}
    if training.loss:
        first, last = training.loss[0], training.loss[-1]
        seen += f", after a loss of {figure(first.value)} at step {first.step:,}"
        seen += f" and of {figure(last.value)} at step {last.step:,}" if last is not first else ""
        evidence |= {"first_loss": first.value, "last_loss": last.value}
    remedy = (
        "Use a tenth of the learning rate or clip gradients (train_config.gradient_clipping_by_norm: 10); if it fails "
        "at the same step again, check the boxes of the dataset."
    )
    return Advice(Code.LOSS_NOT_FINITE, Severity.ERROR, f"{seen}.", remedy, evidence)


def _exploded(training: Training) -> Advice:
    first, last = _ends(training.loss)
    return Advice(
        Code.LOSS_EXPLODED,
        Severity.ERROR,
        f"The loss rose from {figure(first)} to {figure(last)} and stayed there.",
        "Start again with a tenth of the learning rate, a longer warm-up, or clipped gradients "
        "(train_config.gradient_clipping_by_norm: 10); weights after an explosion seldom recover.",
        {"first_loss": first, "last_loss": last, "step": training.step},
    )


def _flat(training: Training) -> Advice:
    first, last = training.loss[0], training.loss[-1]
    return Advice(
        Code.LOSS_FLAT,
        Severity.ERROR,
        f"The loss has not moved: {figure(median(training.loss[:5]))} at the beginning, "
        f"{figure(median(training.loss[-5:]))} after {counted(last.step - first.step, 'step')}.",
        "Check that the learning rate is not close to zero, that train_config.freeze_variables does not freeze all "
        "of the network, and that the training images have boxes.",
        {"first_loss": first.value, "last_loss": last.value, "step": training.step},
    )
