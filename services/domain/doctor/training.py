"""What the doctor is told of a training."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from services.domain import catalogue
from services.domain.box_counts import BoxCounts

__all__ = ["Evaluation", "Point", "Training", "median"]

_HALF = 0.5
_LARGEST = 1e100
_FEWEST_SEEN_WARM = 2_000  # images; trained weights need fewer


@dataclass(frozen=True)
class Point:
    """A value of a series, or the mean of a range of steps; `step` is the last of them."""

    step: int
    value: float


@dataclass(frozen=True)
class Evaluation:
    """The newest evaluation. `has_metrics`: whether it has any figure besides losses."""

    step: int
    has_metrics: bool
    images: int | None = None
    boxes: BoxCounts | None = None  # None: of a trainer that does not count them


@dataclass(frozen=True)
class Training:
    """The steps of one plan, over all attempts that had it. Series are in the order of steps; any may be empty."""

    batch_size: int
    steps: int  # planned
    step: int  # trained so far
    learning_rate: float  # the highest of the schedule
    usual_learning_rate: float | None = None  # the model's default at this batch; None: another optimizer, so unknown
    is_over: bool = False  # it has trained all that it was going to
    is_warm: bool = False  # it began with trained weights
    lost_numbers: bool = False  # it failed because losses or weights were no longer finite numbers
    images: int | None = None  # in the training set
    loss: Sequence[Point] = ()  # total loss of training
    rates: Sequence[Point] = ()  # learning rate
    validation_loss: Sequence[Point] = ()
    box_map: Sequence[Point] = ()  # mAP of boxes
    mask_map: Sequence[Point] = ()
    evaluation: Evaluation | None = None

    @cached_property
    def images_seen(self) -> int:
        return self.step * self.batch_size

    @cached_property
    def fewest_images(self) -> int:
        """To be seen before the weights can be expected to have learned anything."""
        return _FEWEST_SEEN_WARM if self.is_warm else catalogue.FEWEST_SEEN

    @cached_property
    def is_half_way(self) -> bool:
        return self.is_over or self.step >= _HALF * self.steps

    @cached_property
    def newest_map(self) -> float | None:
        return self.box_map[-1].value if self.box_map else None

    @cached_property
    def boxes(self) -> BoxCounts | None:
        return self.evaluation.boxes if self.evaluation else None

    @cached_property
    def warmed_up_at(self) -> int:
        """The step at which the learning rate first had half of its highest value so far: before, little is learned."""
        highest = max((point.value for point in self.rates), default=0.0)
        return next((point.step for point in self.rates if point.value >= _HALF * highest), 0)

    def cleaned(self) -> "Training":
        """Without values that are not finite numbers: a trainer runs other people's models."""
        return replace(
            self,
            loss=_finite(self.loss),
            rates=_finite(self.rates),
            validation_loss=_finite(self.validation_loss),
            box_map=_finite(self.box_map),
            mask_map=_finite(self.mask_map),
        )


def _finite(points: Iterable[Point]) -> tuple[Point, ...]:
    """Sorted by step, and so small that squares do not overflow."""
    kept = (replace(one, value=max(-_LARGEST, min(_LARGEST, one.value))) for one in points if math.isfinite(one.value))
    return tuple(sorted(kept, key=lambda one: one.step))


def median(points: Sequence[Point]) -> float:
    return statistics.median(point.value for point in points)
