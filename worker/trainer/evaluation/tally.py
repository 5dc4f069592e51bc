"""Count true and predicted boxes over the images of an evaluation: classes, overlaps, sizes beside the anchors'."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from services.domain.box_counts import (
    LEAST_OVERLAP,
    LEAST_SCORE,
    LONGEST_NAME,
    MOST_CLASSES,
    MOST_CONFUSIONS,
    OUT_OF_REACH,
    BoxCounts,
)
from worker.trainer.evaluation.evaluated_image import EvaluatedImage

_MOST_SIDES = 100_000  # of true boxes that the median is computed from


class Tally:
    """Holds counters only, so its memory does not grow with the images, apart from one number per true box."""

    def __init__(self, names: Mapping[int, str], anchors: Sequence[tuple[float, float]]) -> None:
        """`anchors`: height and width of each, in pixels of the network's image; empty: not known."""
        self._names = names
        self._anchors = np.array(anchors, np.float64).reshape(-1, 2)
        self._true: Counter[int] = Counter()
        self._predicted: Counter[int] = Counter()
        self._confused: Counter[tuple[int, int]] = Counter()
        self._best_score = 0.0
        self._anchored = self._out_of_reach = 0
        self._sides: list[float] = []

    def add(self, image: EvaluatedImage) -> None:
        truth, found = image.truth(), image.prediction()
        single = ~image.crowds()
        boxes, classes = truth.boxes[single], truth.classes[single].astype(np.int64)
        self._true.update(classes.tolist())
        self._best_score = max(self._best_score, float(found.scores.max(initial=0.0)))
        kept = found.scores >= LEAST_SCORE
        scores, predicted = found.scores[kept], found.classes[kept].astype(np.int64)
        self._predicted.update(predicted.tolist())
        self._confuse(boxes, classes, found.boxes[kept], scores, predicted)
        self._compare_with_anchors(boxes, image.network_scale())

    def _confuse(self, boxes: Any, classes: Any, found: Any, scores: Any, predicted: Any) -> None:
        if not len(boxes) or not len(found):
            return
        ranked = np.where(overlaps(boxes, found) >= LEAST_OVERLAP, scores, -1.0)
        best = ranked.argmax(axis=1)
        for row in np.flatnonzero(ranked.max(axis=1) >= 0):
            self._confused[int(classes[row]), int(predicted[best[row]])] += 1

    def _compare_with_anchors(self, boxes: Any, scale: tuple[float, float]) -> None:
        sides = (boxes[:, 2:] - boxes[:, :2]) * np.array(scale)
        sides = sides[(sides > 0).all(axis=1)]
        if not len(self._anchors) or not len(sides):
            return
        shared = np.minimum(sides[:, None], self._anchors[None]).prod(axis=2)
        areas = sides.prod(axis=1)
        best = (shared / (areas[:, None] + self._anchors.prod(axis=1)[None] - shared)).max(axis=1)
        self._anchored += len(sides)
        self._out_of_reach += int((best < OUT_OF_REACH).sum())
        self._sides += np.sqrt(areas)[: _MOST_SIDES - len(self._sides)].tolist()

    def counts(self) -> BoxCounts:
        confusions = tuple((*pair, count) for pair, count in self._confused.most_common(MOST_CONFUSIONS))
        true, predicted = self._true.most_common(MOST_CLASSES), self._predicted.most_common(MOST_CLASSES)
        named = [number for number, _ in (*true, *predicted)] + [one for row in confusions for one in row[:2]]
        return BoxCounts(
            truths=self._true.total(),
            classes=len(self._true),
            predictions=self._predicted.total(),
            best_score=round(self._best_score, 4),
            true_classes=tuple(true),
            predicted_classes=tuple(predicted),
            overlapped=self._confused.total(),
            right_class=self._confused_by(0),
            next_class=self._confused_by(1),
            previous_class=self._confused_by(-1),
            confusions=confusions,
            anchored=self._anchored,
            out_of_reach=self._out_of_reach,
            smallest_anchor=round(math.sqrt(self._anchors.prod(axis=1).min()), 1) if len(self._anchors) else 0.0,
            median_side=round(float(np.median(self._sides)), 1) if self._sides else 0.0,
            names={
                number: self._names[number][:LONGEST_NAME] for number in sorted(set(named)) if number in self._names
            },
        )

    def _confused_by(self, offset: int) -> int:
        return sum(count for (true, predicted), count in self._confused.items() if predicted - true == offset)


def overlaps(ones: Any, others: Any) -> Any:
    """The IoU of each of `ones` (rows) with each of `others` (columns)."""
    low = np.maximum(ones[:, None, :2], others[None, :, :2])
    high = np.minimum(ones[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (ones, others)]
    return shared / np.maximum(areas[0][:, None] + areas[1][None] - shared, 1e-9)
