"""Trainings for the doctor: series and box counts as the three families make them, healthy and with mistakes.

The losses begin and end where recorded trainings of `shapes` do, with the noise of single batches.
"""

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from services.domain import catalogue
from services.domain.box_counts import BoxCounts
from services.domain.catalogue import Family
from services.domain.contract import TOTAL_LOSS
from services.domain.doctor.training import Evaluation, Point, Training

__all__ = ["FAMILIES", "boxes", "curve", "healthy", "line", "recorded", "until"]

MAP = "DetectionBoxes_Precision/mAP"
MASK_MAP = "DetectionMasks_Precision/mAP"
RECORDED = Path(__file__).with_name("doctor_recorded.json")

FAMILIES: dict[Family, tuple[str, float, float]] = {  # model, loss at the beginning and at the end
    Family.EFFICIENTDET: ("efficientdet_d0", 2.08, 0.55),
    Family.FASTER_RCNN: ("faster_rcnn_resnet50_fpn", 6.6, 4.2),  # most of it is the regularisation
    Family.MASK_RCNN: ("mask_rcnn_resnet50_fpn", 8.97, 5.1),
}
_CLASSES = {1: "circle", 2: "square", 3: "triangle"}


def curve(
    first: float, last: float, steps: int, *, noise: float = 0.06, every: int = 20, delay: float = 0.0, seed: int = 0
) -> tuple[Point, ...]:
    """A loss that falls exponentially from `delay` (a share of the steps) on, reported every so many steps."""
    rng = random.Random(seed)
    points = []
    for step in range(1, steps + 1, every):
        done = max(0.0, step / steps - delay) / (1 - delay)
        value = last + (first - last) * math.exp(-5 * done)
        points.append(Point(step, value * rng.gauss(1, noise)))
    return tuple(points)


def line(steps: int, values: Sequence[float]) -> tuple[Point, ...]:
    """These values at equal distances, the last one at the last step."""
    return tuple(Point(round(steps * (number + 1) / len(values)), value) for number, value in enumerate(values))


def schedule(peak: float, steps: int) -> tuple[Point, ...]:
    """A warm-up of 5 %, then a cosine."""
    warm_up = steps * 0.05
    rates = [
        (step, peak * step / warm_up if step < warm_up else peak * (1 + math.cos(math.pi * step / steps)) / 2)
        for step in range(1, steps + 1, 20)
    ]
    return tuple(Point(step, rate) for step, rate in rates)


def boxes(scale: int = 1, **changes: Any) -> BoxCounts:
    """Of a healthy model on 100 images of three classes."""
    counts = BoxCounts(
        truths=240 * scale,
        classes=3,
        predictions=260 * scale,
        best_score=0.98,
        true_classes=((1, 90 * scale), (2, 80 * scale), (3, 70 * scale)),
        predicted_classes=((1, 100 * scale), (3, 85 * scale), (2, 75 * scale)),
        overlapped=210 * scale,
        right_class=190 * scale,
        next_class=8 * scale,
        previous_class=8 * scale,
        confusions=tuple(
            (true, found, count * scale)
            for true, found, count in (
                (1, 1, 72),
                (2, 2, 62),
                (3, 3, 56),
                (1, 2, 5),
                (2, 3, 3),
                (2, 1, 4),
                (3, 2, 4),
                (1, 3, 2),
                (3, 1, 2),
            )
        ),
        anchored=240 * scale,
        out_of_reach=6 * scale,
        smallest_anchor=32.0,
        median_side=74.0,
        names=_CLASSES,
    )
    return replace(counts, **changes)


def healthy(family: Family = Family.EFFICIENTDET, *, steps: int = 4000, batch: int = 8, **changes: Any) -> Training:
    """A finished training with ten evaluations. `changes` replace fields."""
    model, first, last = FAMILIES[family]
    rate = catalogue.get(model).learning_rate_for(batch)
    maps = [0.02, 0.11, 0.2, 0.28, 0.33, 0.37, 0.39, 0.41, 0.4, 0.41]
    training = Training(
        batch_size=batch,
        steps=steps,
        step=steps,
        learning_rate=rate,
        usual_learning_rate=rate,
        is_over=True,
        images=800,
        loss=curve(first, last, steps),
        rates=schedule(rate, steps),
        validation_loss=line(steps, [first - (first - last) * 0.9 * value / 0.41 for value in maps]),
        box_map=line(steps, maps),
        mask_map=line(steps, [value * 0.9 for value in maps]) if family is Family.MASK_RCNN else (),
        evaluation=Evaluation(steps, has_metrics=True, images=100, boxes=boxes()),
    )
    return replace(training, **changes)


def until(training: Training, step: int) -> Training:
    """The training as it was after `step` steps."""

    def before(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple(point for point in points if point.step <= step)

    is_over = training.is_over and step >= training.step
    evaluation = training.evaluation if is_over else None
    return replace(
        training,
        step=step,
        is_over=is_over,
        loss=before(training.loss),
        rates=before(training.rates),
        validation_loss=before(training.validation_loss),
        box_map=before(training.box_map),
        mask_map=before(training.mask_map),
        evaluation=evaluation,
    )


def recorded() -> dict[str, list[Training]]:
    """Real trainings by name, each as it was after each of its evaluations; some of the steps are left out.

    On `shapes` with 200 and 30 images (seed 0) at 256 pixels: those with Adam in the configuration of
    `benchmarks/learns.py`, the others in the catalogue's.
    """
    return {name: _after_evaluations(one) for name, one in json.loads(RECORDED.read_text()).items()}


def _after_evaluations(one: dict[str, Any]) -> list[Training]:
    usual = catalogue.get(one["model"]).learning_rate_for(one["batch_size"])

    def series(metric: str) -> list[Point]:
        found = [(each["step"], each["metrics"].get(metric)) for each in one["evaluations"]]
        return [Point(step, value) for step, value in found if value is not None]

    whole = Training(
        batch_size=one["batch_size"],
        steps=one["steps"],
        step=one["step"],
        learning_rate=one["learning_rate"],
        usual_learning_rate=usual if one["optimizer"] == "momentum_optimizer" else None,
        is_over=one["step"] == one["steps"],
        images=one["images"],
        loss=[Point(step, loss) for step, loss, _ in one["reports"]],
        rates=[Point(step, rate) for step, _, rate in one["reports"]],
        validation_loss=series(TOTAL_LOSS),
        box_map=series(MAP),
        mask_map=series(MASK_MAP),
    )
    found = []
    for each in one["evaluations"]:
        boxes = BoxCounts.from_values(each["boxes"])
        assert boxes is not None
        evaluation = Evaluation(each["step"], True, each["images"], boxes)
        found.append(replace(until(whole, each["step"]), evaluation=evaluation))
    return found
