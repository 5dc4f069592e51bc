"""What an evaluation counts of true and predicted boxes: mistakes in labels and anchors show here, not in mAP.

The trainer reports it with each evaluation, in the field `boxes` of an `eval` event. It stays small, whatever the
number of classes: only the most frequent ones are named.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

__all__ = [
    "LEAST_OVERLAP",
    "LEAST_SCORE",
    "LONGEST_NAME",
    "MOST_CLASSES",
    "MOST_CONFUSIONS",
    "OUT_OF_REACH",
    "BoxCounts",
]

LEAST_SCORE = 0.3  # of a prediction that counts, as in the sample pictures
LEAST_OVERLAP = 0.5  # (IoU) of a prediction that means a true box, as for COCO's mAP@.50
# At this overlap (IoU) at best, an anchor is background to a two-stage model, and far from a match to EfficientDet,
# which wants 0.5. Such a box is learned only because each box is given its best anchor, however bad.
OUT_OF_REACH = 0.3

MOST_CLASSES = 10
MOST_CONFUSIONS = 20
LONGEST_NAME = 64  # characters
_LARGEST = 2**53


@dataclass(frozen=True)
class BoxCounts:
    """Crowds are in none of these numbers. Predictions are those of at least LEAST_SCORE, except in `best_score`."""

    truths: int  # true boxes
    classes: int  # that have true boxes
    predictions: int
    best_score: float = 0.0  # of all predictions; 0: there is none
    true_classes: tuple[tuple[int, int], ...] = ()  # class and number of boxes, the most frequent first
    predicted_classes: tuple[tuple[int, int], ...] = ()
    # True boxes that a prediction of any class overlaps, and the class of the best-scored such prediction:
    overlapped: int = 0
    right_class: int = 0
    next_class: int = 0  # the true class plus 1
    previous_class: int = 0  # the true class minus 1
    confusions: tuple[tuple[int, int, int], ...] = ()  # true class, predicted class, number; right ones are included
    # True boxes in the network's image, compared with the anchors' sizes, wherever the anchors are:
    anchored: int = 0  # 0: the anchors are not known
    out_of_reach: int = 0  # no anchor would overlap by OUT_OF_REACH
    smallest_anchor: float = 0.0  # side in pixels of the square of its area
    median_side: float = 0.0  # likewise, of the true boxes
    names: Mapping[int, str] = field(default_factory=dict)  # of the classes above

    def to_values(self) -> dict[str, Any]:
        """Plain values for JSON; `from_values` reads them back."""
        return dataclasses.asdict(self) | {"names": {str(number): name for number, name in self.names.items()}}

    @classmethod
    def from_values(cls, value: Any) -> Self | None:
        """Reads what a trainer wrote, within the bounds above; None if it is not such a report."""
        if not isinstance(value, Mapping):
            return None
        try:
            return cls(
                **{name: _count(value[name]) for name in ("truths", "classes", "predictions")},
                **{name: _count(value.get(name, 0)) for name in _COUNTS},
                best_score=_figure(value.get("best_score", 0.0)),
                smallest_anchor=_figure(value.get("smallest_anchor", 0.0)),
                median_side=_figure(value.get("median_side", 0.0)),
                true_classes=_rows(value.get("true_classes"), 2, MOST_CLASSES),
                predicted_classes=_rows(value.get("predicted_classes"), 2, MOST_CLASSES),
                confusions=_rows(value.get("confusions"), 3, MOST_CONFUSIONS),
                names=_names(value.get("names")),
            )
        except (KeyError, TypeError, ValueError):
            return None


_COUNTS = ("overlapped", "right_class", "next_class", "previous_class", "anchored", "out_of_reach")
_MOST_NAMES = 2 * MOST_CLASSES + 2 * MOST_CONFUSIONS


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST:
        raise ValueError(value)
    return value


def _figure(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(value)
    return float(value)


def _rows(value: Any, columns: int, most: int) -> Any:
    """Up to `most` rows of `columns` counts."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or any(len(row) != columns for row in value[:most]):
        raise ValueError(value)
    return tuple(tuple(_count(number) for number in row) for row in value[:most])


def _names(value: Any) -> dict[int, str]:
    if not isinstance(value, Mapping):
        return {}
    some = list(value.items())[:_MOST_NAMES]
    return {int(number): name[:LONGEST_NAME] for number, name in some if isinstance(name, str)}
