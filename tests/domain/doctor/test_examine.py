"""The doctor names seeded mistakes of the three families, and says nothing of healthy trainings."""

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain.box_counts import BoxCounts
from services.domain.catalogue import Family
from services.domain.doctor.advice import Code, Severity
from services.domain.doctor.examine import examine
from services.domain.doctor.training import Evaluation, Point, Training
from tests.support.doctor_cases import FAMILIES, boxes, curve, healthy, line, recorded, until

EFFICIENTDET, FASTER, MASK = Family.EFFICIENTDET, Family.FASTER_RCNN, Family.MASK_RCNN
STEPS = 4000
NO_MAP = line(STEPS, [0.0] * 10)


def at(family: Family, counts: BoxCounts | None = None, *, has_metrics: bool = True, **changes: Any) -> Training:
    """A healthy training of the family but for these changes and these counts of the newest evaluation."""
    evaluation = Evaluation(STEPS, has_metrics, 100, counts or boxes())
    return healthy(family, evaluation=evaluation, **changes)


def shifted(offset: int) -> BoxCounts:
    pairs = [(true, true + offset, 60) for true in (1, 2, 3, 4) if 1 <= true + offset <= 4]
    side = {"next_class": 180} if offset > 0 else {"previous_class": 180}
    plain = {"next_class": 0, "previous_class": 0} | side
    return boxes(overlapped=190, right_class=4, confusions=(*pairs, (1, 4, 6), (2, 2, 4)), **plain)


NOTHING = boxes(predictions=0, best_score=0.04, predicted_classes=(), overlapped=0, right_class=0, confusions=())
SWAPPED = boxes(
    overlapped=210, right_class=70, next_class=70, previous_class=70, confusions=((1, 1, 70), (2, 3, 70), (3, 2, 70))
)
ELSEWHERE = boxes(overlapped=2, right_class=1, confusions=((1, 1, 1), (2, 1, 1)))
ONE_CLASS = boxes(
    predicted_classes=((2, 259), (1, 1)), right_class=70, confusions=((1, 2, 70), (2, 2, 70), (3, 2, 60), (1, 1, 1))
)
TINY_BOXES = boxes(out_of_reach=200, median_side=11.0)


def exploding(first: float, to: float) -> tuple[Point, ...]:
    rng = random.Random(1)
    return tuple(
        Point(step, (first if step < 800 else min(to, first * 1.02 ** (step - 800))) * rng.gauss(1, 0.1))
        for step in range(1, STEPS, 20)
    )


def constant(value: float, noise: float, seed: int = 2) -> tuple[Point, ...]:
    rng = random.Random(seed)
    return tuple(Point(step, value * rng.gauss(1, noise)) for step in range(1, STEPS, 20))


def falling_map(best: float, last: float) -> tuple[Point, ...]:
    """The best of ten evaluations is the fourth."""
    rise = [best * part for part in (0.3, 0.7, 0.9, 1.0)]
    return line(STEPS, [*rise, *(best + (last - best) * part / 6 for part in range(1, 7))])


MISTAKES = {
    "labels of the validation set one too high": (at(FASTER, shifted(1), box_map=NO_MAP), Code.LABELS_SHIFTED),
    "labels of the validation set one too low": (at(EFFICIENTDET, shifted(-1), box_map=NO_MAP), Code.LABELS_SHIFTED),
    "labels of 1,000 classes, of which 20 pairs are listed": (
        at(
            EFFICIENTDET,
            boxes(
                classes=1000,
                overlapped=2000,
                right_class=30,
                next_class=1900,
                previous_class=0,
                confusions=tuple((number, number + 1, 6) for number in range(100, 120)),
            ),
        ),
        Code.LABELS_SHIFTED,
    ),
    "two classes exchanged": (at(MASK, SWAPPED, box_map=line(STEPS, [0.02, 0.1, 0.13])), Code.LABELS_MIXED_UP),
    "a validation set without objects": (
        at(EFFICIENTDET, BoxCounts(truths=0, classes=0, predictions=3), box_map=(), has_metrics=False),
        Code.VALIDATION_WITHOUT_OBJECTS,
    ),
    "no object, as an earlier trainer reports it": (
        healthy(MASK, box_map=(), mask_map=(), evaluation=Evaluation(STEPS, has_metrics=False)),
        Code.MAP_MISSING,
    ),
    "all predictions of one class": (at(FASTER, ONE_CLASS, box_map=line(STEPS, [0.05, 0.06])), Code.ONE_CLASS_ONLY),
    "all predictions of one class, masks": (at(MASK, ONE_CLASS), Code.ONE_CLASS_ONLY),
    "x and y exchanged in the validation set": (at(EFFICIENTDET, ELSEWHERE, box_map=NO_MAP), Code.BOXES_ELSEWHERE),
    "anchors of a grid for small boxes": (at(FASTER, TINY_BOXES, box_map=NO_MAP), Code.ANCHORS_TOO_LARGE),
    "small boxes on a small image": (
        at(EFFICIENTDET, TINY_BOXES, box_map=line(STEPS, [0.01, 0.04])),
        Code.ANCHORS_TOO_LARGE,
    ),
    "loss exploded": (
        healthy(FASTER, loss=exploding(6.6, 4e8), box_map=NO_MAP),
        Code.LOSS_EXPLODED,
    ),
    "loss exploded before the first report": (
        healthy(EFFICIENTDET, loss=constant(3e7, 0.4), box_map=NO_MAP),
        Code.LOSS_EXPLODED,
    ),
    "loss is no number": (
        healthy(MASK, loss=curve(8.97, 5.1, 400), step=401, is_over=False, lost_numbers=True, box_map=()),
        Code.LOSS_NOT_FINITE,
    ),
    "a network that is frozen": (healthy(EFFICIENTDET, loss=constant(2.08, 0.05), box_map=NO_MAP), Code.LOSS_FLAT),
    "a frozen network, before any evaluation": (
        until(healthy(MASK, loss=constant(8.97, 0.02), box_map=()), 2000),
        Code.LOSS_FLAT,
    ),
    "a learning rate 1,000 times too small": (
        healthy(FASTER, learning_rate=5e-6, loss=constant(6.6, 0.02), box_map=NO_MAP),
        Code.LEARNING_RATE_LOW,
    ),
    "a learning rate 40 times too large": (
        healthy(EFFICIENTDET, learning_rate=0.2, loss=exploding(2.08, 900.0), box_map=NO_MAP),
        Code.LEARNING_RATE_HIGH,
    ),
    "a TPU's learning rate at batch 2": (
        healthy(EFFICIENTDET, batch=2, learning_rate=0.08, box_map=line(STEPS, [0.0, 0.01, 0.012])),
        Code.LEARNING_RATE_HIGH,
    ),
    "a training set that is memorised": (
        healthy(FASTER, loss=curve(6.6, 2.0, STEPS, noise=0.03), box_map=falling_map(0.5, 0.3)),
        Code.MEMORISED,
    ),
    "memorised: the validation loss rises": (
        healthy(
            EFFICIENTDET,
            box_map=falling_map(0.5, 0.47),
            loss=curve(2.08, 0.1, STEPS, noise=0.03),
            validation_loss=line(STEPS, [1.5, 1.1, 0.9, 0.8, 0.85, 0.95, 1.1, 1.2, 1.3, 1.4]),
        ),
        Code.MEMORISED,
    ),
    "masks of another size": (healthy(MASK, mask_map=line(STEPS, [0.0, 0.004])), Code.MASKS_DO_NOT_FIT),
    "a training of 60 steps": (
        replace(until(healthy(FASTER, steps=STEPS), 60), steps=60, is_over=True, box_map=line(60, [0.0])),
        Code.TRAINED_TOO_BRIEFLY,
    ),
    "a training that learned nothing": (
        at(EFFICIENTDET, NOTHING, box_map=NO_MAP),
        Code.MAP_ZERO,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_seeded_mistake_is_named(name: str) -> None:
    training, code = MISTAKES[name]
    found = examine(training)
    assert code in [one.code for one in found]
    for one in found:
        assert one.seen[-1] == one.remedy[-1] == "."
        assert all(math.isfinite(value) for value in one.evidence.values())


def test_the_mistakes_are_of_all_families_and_cover_all_codes() -> None:
    assert {code for _, code in MISTAKES.values()} == set(Code)
    assert len(MISTAKES) >= 12


def test_a_mistake_is_said_once_not_also_by_its_effects() -> None:
    """The classes of training and validation do not match, so the mAP is 0, whatever the learning rate is."""
    [advice] = examine(at(FASTER, shifted(1), box_map=NO_MAP, learning_rate=1e-9))
    assert advice.code is Code.LABELS_SHIFTED
    assert advice.severity is Severity.ERROR
    assert advice.seen == (
        "180 of 190 true boxes that were found are called one class higher ('circle' (class 1) is called 'square' "
        "(class 2)), 4 by their own."
    )


def test_the_learning_rate_is_said_before_the_explosion_that_it_caused_is_repaired() -> None:
    found = examine(MISTAKES["a learning rate 40 times too large"][0])
    assert [one.code for one in found] == [Code.LOSS_EXPLODED, Code.LEARNING_RATE_HIGH]
    assert "0.2 is 40 times the model's default of 0.005 at a batch of 8" in found[1].seen


# --- healthy trainings: nothing is said, at no time ----------------------------------------------------------------


def spiky(first: float, last: float) -> tuple[Point, ...]:
    """A loss with heavy noise and a spike of a hundredfold now and then."""
    rng = random.Random(4)
    return tuple(
        Point(point.step, point.value * (100 if rng.random() < 0.02 else 1))
        for point in curve(first, last, STEPS, noise=0.3, seed=5)
    )


LATE = [0.0, 0.0, 0.001, 0.001, 0.002, 0.01, 0.06, 0.14, 0.22, 0.27]
HEALTHY = {
    **{f"{family}, as it should be": healthy(family) for family in FAMILIES},
    "noise of small batches, with spikes": healthy(FASTER, batch=1, loss=spiky(6.6, 4.2)),
    "a long warm-up": healthy(
        MASK, rates=line(STEPS, [1e-6] * 30 + [0.002] * 70), loss=curve(8.97, 5.1, STEPS, delay=0.3)
    ),
    "late learning": healthy(EFFICIENTDET, loss=curve(2.08, 0.9, STEPS, delay=0.4), box_map=line(STEPS, LATE)),
    "a tiny validation set": healthy(
        EFFICIENTDET,
        box_map=line(STEPS, [0.1, 0.5, 0.3, 0.6, 0.4, 0.55, 0.31, 0.58, 0.35, 0.33]),
        evaluation=Evaluation(
            STEPS,
            True,
            5,
            BoxCounts(
                truths=9,
                classes=2,
                predictions=8,
                best_score=0.9,
                true_classes=((1, 6), (2, 3)),
                predicted_classes=((1, 8),),
                overlapped=8,
                right_class=6,
                previous_class=2,
                confusions=((1, 1, 6), (2, 1, 2)),
            ),
        ),
    ),
    "one class": healthy(
        FASTER,
        evaluation=Evaluation(
            STEPS,
            True,
            100,
            boxes(classes=1, true_classes=((1, 240),), predicted_classes=((1, 260),), confusions=((1, 1, 210),)),
        ),
    ),
    "one frequent class": healthy(
        FASTER,
        evaluation=Evaluation(STEPS, True, 100, boxes(true_classes=((1, 220), (2, 20)), predicted_classes=((1, 260),))),
    ),
    "fine-tuning with a small learning rate": healthy(EFFICIENTDET, learning_rate=1e-4, is_warm=True),
    "a large learning rate that works": healthy(FASTER, learning_rate=0.06),
    "continued when it had converged": healthy(
        MASK, loss=constant(5.1, 0.05), box_map=constant(0.4, 0.02), is_warm=True
    ),
    "mAP that wavers at the end": healthy(
        EFFICIENTDET, box_map=line(STEPS, [0.1, 0.3, 0.38, 0.41, 0.42, 0.40, 0.43, 0.41, 0.40, 0.405])
    ),
    "small boxes that are found": at(EFFICIENTDET, TINY_BOXES),
    "no evaluation": healthy(FASTER, box_map=(), validation_loss=(), evaluation=None),
    "an optimizer that is not compared": healthy(EFFICIENTDET, learning_rate=1e-5, usual_learning_rate=None),
    "a weak model of classes of which one is frequent": at(
        # What is predicted does not depend on what is there: most is called class 2, some class 3.
        FASTER,
        boxes(
            truths=3000,
            predictions=2040,
            overlapped=2000,
            right_class=170,
            next_class=1620,
            previous_class=10,
            true_classes=((1, 2700), (2, 270), (3, 30)),
            predicted_classes=((2, 1850), (3, 190)),
            confusions=((1, 2, 1600), (1, 3, 180), (2, 2, 160), (2, 3, 20), (3, 2, 18), (3, 3, 2)),
        ),
    ),
    "a thousand classes, of which a few pairs are listed": at(
        FASTER,
        boxes(
            classes=1000,
            overlapped=2000,
            right_class=900,
            confusions=tuple((number, number ^ 1, 6) for number in range(2, 22)),
        ),
    ),
    "confusable classes": at(
        FASTER,
        boxes(right_class=120, confusions=((1, 1, 50), (1, 2, 22), (2, 2, 40), (2, 1, 24), (3, 3, 30), (3, 2, 26))),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_training_has_no_advice_at_any_time(name: str) -> None:
    training = HEALTHY[name]
    for step in [*range(0, STEPS, 100), STEPS]:
        assert examine(until(training, step)) == (), step


RECORDED = recorded()


@pytest.mark.parametrize("name", RECORDED)
def test_a_real_training_has_no_advice_at_any_time_but_that_it_was_brief(name: str) -> None:
    states = RECORDED[name]
    end = states[-1]
    for step in range(end.step):
        assert examine(until(end, step)) == (), step
    for state in states[:-1]:
        assert examine(state) == (), state.step
    is_brief = end.is_over and end.images_seen < 2000
    assert [one.code for one in examine(end)] == ([Code.TRAINED_TOO_BRIEFLY] if is_brief else [])


def test_the_recorded_trainings_include_one_that_learned() -> None:
    assert {name.split(" from ")[0] for name in RECORDED} == {"EfficientDet-D0", "Faster R-CNN", "Mask R-CNN"}
    assert max(states[-1].box_map[-1].value for states in RECORDED.values()) > 0.6


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("family", FAMILIES)
def test_noise_alone_is_no_mistake(family: Family, seed: int) -> None:
    """The newest evaluation is bad by chance, too."""
    rng = random.Random(seed)
    _, first, last = FAMILIES[family]
    maps = [max(0.0, value * rng.gauss(1, 0.1)) for value in (0.02, 0.11, 0.2, 0.28, 0.33, 0.37, 0.39, 0.41, 0.4, 0.41)]
    noisy = curve(first, last, STEPS, noise=rng.uniform(0.02, 0.3), delay=rng.uniform(0, 0.3), seed=seed)
    training = healthy(family, loss=noisy, box_map=line(STEPS, maps))
    for step in range(200, STEPS + 1, 200):
        assert examine(until(training, step)) == (), step


@pytest.mark.parametrize("value", [1e308, -1e308, 1e-320, 0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("map_value", [0.0, 0.2, 1e308])
def test_no_value_is_too_large_or_too_small(value: float, map_value: float) -> None:
    same = [Point(step, value) for step in range(1, STEPS, 20)]
    mixed = [Point(point.step, -point.value if point.step % 3 else point.value) for point in same]
    for loss in (same, mixed):
        maps = line(STEPS, [map_value] * 10)
        training = healthy(FASTER, loss=loss, rates=same, validation_loss=same, box_map=maps, learning_rate=value)
        for one in examine(training):
            json.dumps(one.to_values(), allow_nan=False)


@given(
    points=st.lists(st.tuples(st.integers(-10, 10**12), st.floats()), max_size=60),
    figures=st.tuples(st.floats(), st.floats()),
    counts=st.lists(st.integers(0, 300), min_size=9, max_size=9),
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 300)), max_size=20),
    flags=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_the_doctor_never_raises(
    points: list[tuple[int, float]],
    figures: tuple[float, float],
    counts: list[int],
    rows: list[tuple[int, int, int]],
    flags: list[bool],
) -> None:
    series = [Point(*point) for point in points]
    seen = BoxCounts(
        truths=counts[0],
        classes=counts[1],
        predictions=counts[2],
        best_score=0.5,
        predicted_classes=tuple(row[1:] for row in rows),
        overlapped=counts[3],
        right_class=counts[4],
        next_class=counts[5],
        previous_class=counts[6],
        confusions=tuple(rows),
        anchored=counts[7],
        out_of_reach=counts[8],
        smallest_anchor=30.0,
        median_side=10.0,
    )
    training = Training(
        batch_size=counts[0],
        steps=counts[1],
        step=counts[2] * 1000,
        learning_rate=figures[0],
        usual_learning_rate=figures[1],
        is_over=flags[0],
        is_warm=flags[1],
        lost_numbers=flags[2],
        images=counts[3],
        loss=series,
        rates=series[::-1],
        validation_loss=series[::2],
        box_map=series[::3],
        mask_map=series[::4],
        evaluation=Evaluation(1, flags[3], None, seen if flags[0] else None),
    )
    codes = [one.code for one in examine(training)]
    assert len(set(codes)) == len(codes)
