"""Mistakes that the boxes of an evaluation show: labels, places and sizes.

All of them need so many boxes that chance does not look like a mistake.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from services.domain.box_counts import LEAST_SCORE, MOST_CONFUSIONS, OUT_OF_REACH, BoxCounts
from services.domain.doctor.advice import Advice, Code, Severity, figure
from services.domain.doctor.training import Training

__all__ = ["check"]

_FEW_BOXES = 20
_MANY_BOXES = 50

_ONE_CLASS = 0.98  # of the predictions
_COMMON = 0.7  # of the true boxes: where one class is that frequent, a weak model predicts little else

# A model that confuses two classes still has most of them right. Nearly no right class, and most of the predictions
# exactly one beside it, is no confusion. Where ids wrap around, a set of three classes has two thirds so.
_RIGHT = 0.1
_BESIDE = 0.6
_OF_EACH_CLASS = 5  # boxes of at least two classes
_MAPPED = 0.8  # of a class: all of it is called something else, not some of it

_FOUND_ELSEWHERE = 0.02
_CERTAIN = 5  # predictions for one true box, at most: with more, the model does not know where objects are
_USELESS = 0.005  # mAP

# Half of COCO's small objects are out of reach of EfficientDet-D0 at 512 pixels, which is a fifth of all.
_OUT_OF_REACH = 0.5
_WORKS = 0.3  # mAP: then the anchors do reach the boxes


def check(training: Training) -> Iterator[Advice]:
    boxes = training.boxes
    if boxes is None or not boxes.truths:
        return
    labels = _shifted(boxes) or _mixed_up(boxes)
    if labels:
        yield labels
    # Nearly random weights of a two-stage model give hundreds of predictions an image a score above LEAST_SCORE.
    if training.is_half_way and training.images_seen >= training.fewest_images:
        yield from _elsewhere(training, boxes)
        yield from _one_class(boxes)
    yield from _anchors(training, boxes)


def _shifted(boxes: BoxCounts) -> Advice | None:
    offset = 1 if boxes.next_class >= boxes.previous_class else -1
    beside = boxes.next_class if offset == 1 else boxes.previous_class
    shifted = [true for true, (name, _) in _names_used(boxes).items() if name - true == offset]
    if boxes.overlapped < _FEW_BOXES or len(shifted) < 2 or boxes.right_class > _RIGHT * boxes.overlapped:
        return None
    if beside < _BESIDE * boxes.overlapped:
        return None
    true = shifted[0]
    return Advice(
        Code.LABELS_SHIFTED,
        Severity.ERROR,
        f"{beside:,} of {boxes.overlapped:,} true boxes that were found are called one class "
        f"{'higher' if offset == 1 else 'lower'} ({_name(boxes, true)} is called {_name(boxes, true + offset)}), "
        f"{boxes.right_class:,} by their own.",
        "The class ids of training and validation are shifted by one: number the classes from 1 in both, 0 is the "
        "background, and add the dataset again.",
        {"found": boxes.overlapped, "beside": beside, "right": boxes.right_class, "offset": offset},
    )


def _names_used(boxes: BoxCounts, missing: int = 0) -> dict[int, tuple[int, int]]:
    """For each class that is nearly always called the same: by which class, and how often.

    `missing`: the boxes of a class that may be in no listed pair.
    """
    called: dict[int, Counter[int]] = defaultdict(Counter)
    for true, predicted, count in boxes.confusions:
        called[true][predicted] += count
    found = {true: (*names.most_common(1)[0], names.total() + missing) for true, names in called.items()}
    return {
        true: (name, count)
        for true, (name, count, total) in found.items()
        if count >= _OF_EACH_CLASS and count >= _MAPPED * total
    }


def _mixed_up(boxes: BoxCounts) -> Advice | None:
    """Classes that are called by each other's names: each by one other, and all of these names belong to them."""
    # A full list is not all: pairs that are missing may be as frequent as its last one.
    missing = min(row[2] for row in boxes.confusions) if len(boxes.confusions) >= MOST_CONFUSIONS else 0
    used = _names_used(boxes, missing)
    names = {true: name for true, (name, _) in used.items() if name != true}
    while set(names) != set(names.values()):  # keep those that are exchanged among themselves
        kept = {true: name for true, name in names.items() if name in names and true in names.values()}
        if kept == names:
            return None  # two classes have the same name: that is a confusion
        names = kept
    wrong = sum(used[true][1] for true in names)
    if not names or wrong < _FEW_BOXES:
        return None
    true, predicted = min(names.items())
    return Advice(
        Code.LABELS_MIXED_UP,
        Severity.ERROR,
        f"{len(names):,} classes are called by each other's names in {wrong:,} true boxes that were found "
        f"({_name(boxes, true)} is called {_name(boxes, predicted)}).",
        "Training and validation number their classes in different orders: write both with the same label map and add "
        "the dataset again.",
        {"found": boxes.overlapped, "classes": len(names), "wrong": wrong, "right": boxes.right_class},
    )


def _elsewhere(training: Training, boxes: BoxCounts) -> Iterator[Advice]:
    if training.newest_map is None or training.newest_map >= _USELESS:
        return
    is_enough = boxes.predictions >= _MANY_BOXES and boxes.truths >= _FEW_BOXES
    if (
        is_enough
        and boxes.predictions <= _CERTAIN * boxes.truths
        and boxes.overlapped <= _FOUND_ELSEWHERE * boxes.truths
    ):
        yield Advice(
            Code.BOXES_ELSEWHERE,
            Severity.ERROR,
            f"{boxes.predictions:,} predictions have a score of at least {LEAST_SCORE}, but overlap "
            f"{boxes.overlapped:,} of {boxes.truths:,} true boxes.",
            "Compare the samples: the boxes of training and validation mean different places, for example with x and "
            "y swapped, or corners read as centres.",
            {"predictions": boxes.predictions, "truths": boxes.truths, "found": boxes.overlapped},
        )


def _one_class(boxes: BoxCounts) -> Iterator[Advice]:
    if (
        boxes.classes < 2
        or boxes.predictions < _MANY_BOXES
        or boxes.truths < _MANY_BOXES
        or not boxes.predicted_classes
    ):
        return
    only, count = boxes.predicted_classes[0]
    true = dict(boxes.true_classes).get(only, 0)
    if count < _ONE_CLASS * boxes.predictions or true > _COMMON * boxes.truths:
        return
    yield Advice(
        Code.ONE_CLASS_ONLY,
        Severity.ERROR,
        f"{count:,} of {boxes.predictions:,} predictions say {_name(boxes, only)}, but only {true:,} of "
        f"{boxes.truths:,} true boxes are of that class; there are {boxes.classes:,} classes.",
        "Check that the training images have boxes of all classes, and that the label map names each class once; if "
        "one class is far more frequent there, add images of the others.",
        {"predictions": boxes.predictions, "of_class": count, "truths": boxes.truths, "true_of_class": true},
    )


def _anchors(training: Training, boxes: BoxCounts) -> Iterator[Advice]:
    if boxes.anchored < _MANY_BOXES or boxes.out_of_reach < _OUT_OF_REACH * boxes.anchored:
        return
    if boxes.median_side >= boxes.smallest_anchor or (training.newest_map or 0.0) >= _WORKS:
        return
    yield Advice(
        Code.ANCHORS_TOO_LARGE,
        Severity.WARNING,
        f"{boxes.out_of_reach:,} of {boxes.anchored:,} true boxes are too small for the anchors (overlap below "
        f"{OUT_OF_REACH}): half of the boxes are smaller than {figure(boxes.median_side)} pixels in the network's "
        f"image, the smallest anchor has {figure(boxes.smallest_anchor)}.",
        "Use a larger image_size, cut the images into tiles, or lower the anchors in a pipeline_config of your own "
        "(anchor_scale, min_level, or scales).",
        {
            "compared": boxes.anchored,
            "out_of_reach": boxes.out_of_reach,
            "median_side": boxes.median_side,
            "smallest_anchor": boxes.smallest_anchor,
        },
    )


def _name(boxes: BoxCounts, number: int) -> str:
    name = boxes.names.get(number)
    return f"class {number}" if name is None else f"{name!r} (class {number})"
