"""Which evaluation was the best one so far, and when training ends early because nothing is gained any more."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from services.domain.contract import BestMetric, EarlyStopping
from services.domain.sizes import counted

__all__ = ["SERIES", "Evaluated", "History", "evaluations_without_gain", "is_of_masks", "value_of"]

# The names of the metrics in an evaluation's results.
SERIES: Mapping[BestMetric, str] = {
    BestMetric.MAP: "DetectionBoxes_Precision/mAP",
    BestMetric.MAP_50: "DetectionBoxes_Precision/mAP@.50IOU",
    BestMetric.MAP_75: "DetectionBoxes_Precision/mAP@.75IOU",
    BestMetric.AR_100: "DetectionBoxes_Recall/AR@100",
    BestMetric.MASK_MAP: "DetectionMasks_Precision/mAP",
    BestMetric.MASK_MAP_50: "DetectionMasks_Precision/mAP@.50IOU",
    BestMetric.MASK_MAP_75: "DetectionMasks_Precision/mAP@.75IOU",
    BestMetric.MASK_AR_100: "DetectionMasks_Recall/AR@100",
}
_DECIMALS = 9  # results have six; 0.101 - 0.1 is a little less than 0.001


def is_of_masks(metric: BestMetric) -> bool:
    return SERIES[metric].startswith("DetectionMasks")


def value_of(metrics: Mapping[str, Any], metric: BestMetric) -> float | None:
    """None where the evaluation has no real value: the metric is missing, not finite, or -1 ("no such objects")."""
    value = metrics.get(SERIES[metric])
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def evaluations_without_gain(values: Iterable[float], min_gain: float) -> int:
    """How many evaluations in a row, up to the last, gained less than `min_gain`.

    A gain is counted from the last value that was one, so that many small gains add up. The first value above 0 is the
    first gain: a training that has detected nothing yet has only begun, and is not counted.
    """
    counted_from, idle = 0.0, 0
    for value in values:
        least = min_gain if counted_from else 0.0
        if value > counted_from and round(value - counted_from, _DECIMALS) >= least:
            counted_from, idle = value, 0
        elif counted_from:
            idle += 1
    return idle


@dataclass(frozen=True)
class Evaluated:
    """The value of the metric after `step` steps of `batch` images."""

    step: int
    batch: int
    value: float

    @property
    def images(self) -> int:
        return self.step * self.batch

    def is_better_than(self, best: Self | None) -> bool:
        """A value of 0 is no better than another one, but then more training is."""
        return best is None or self.value > best.value or (self.value == best.value == 0)


@dataclass(frozen=True)
class History:
    """The evaluations of one architecture that had a value, oldest first, and the best there ever was."""

    metric: BestMetric
    evaluations: tuple[Evaluated, ...] = ()
    best: Evaluated | None = None

    @property
    def images(self) -> int:
        """After how many the last evaluation came; 0: there is none."""
        return self.evaluations[-1].images if self.evaluations else 0

    def after(self, new: Evaluated) -> "History":
        """With `new` in it. What was trained again, since a later checkpoint could not be read, counts once."""
        earlier = tuple(one for one in self.evaluations if one.images < new.images)
        best = new if new.is_better_than(self.best) else self.best
        return replace(self, evaluations=(*earlier, new), best=best)

    def without_gain(self, rule: EarlyStopping) -> int:
        return evaluations_without_gain((one.value for one in self.evaluations), rule.min_gain)

    def ends_training(self, rule: EarlyStopping | None) -> bool:
        return rule is not None and self.without_gain(rule) >= rule.patience

    def why_it_ended(self, rule: EarlyStopping, step: int, steps: int) -> str:
        """A sentence for people, of a history that ends the training."""
        gain = f"{self.metric} has not gained {rule.min_gain:g}" if rule.min_gain else f"{self.metric} has not grown"
        best = f"; best {self.best.value:.4g} at step {self.best.step}" if self.best else ""
        idle = counted(self.without_gain(rule), "evaluation")
        return f"stopped early at step {step} of {steps}: {gain} in {idle}{best}"
