"""Mistakes that the metrics of evaluations show: mAP of 0 or none, masks, a memorised training set."""

from collections.abc import Iterator, Sequence

from services.domain.doctor.advice import Advice, Code, Severity, figure
from services.domain.doctor.training import Point, Training, median
from services.domain.sizes import counted

__all__ = ["check"]

# COCO's mAP of a trained model is above 0.01 even for hard sets; one that has learned nothing has 0 to 0.003.
_USELESS = 0.005

_BOXES_WORK, _MASKS_DO_NOT = 0.3, 0.02  # mAP; masks are learned a little after boxes, and are never so far behind

_FEWEST_EVALUATIONS = 5
_BEST_AT_LEAST = 0.1  # mAP
_LOST = 0.2  # of the best mAP, and
_LOST_AT_LEAST = 0.05  # in absolute terms: on a few hundred boxes it varies by some hundredths from one to the next
_RISEN = 1.3  # times the lowest validation loss
_LEARNED = 0.9  # times the training loss at the best evaluation: it still falls
_FEWEST_BOXES = 100  # in the validation set: with fewer, mAP varies too much
_FEWEST_EPOCHS = 10  # images that were seen less often were not memorised


def check(training: Training) -> Iterator[Advice]:
    yield from _missing(training)
    yield from _zero(training)
    yield from _masks(training)
    yield from _memorised(training)


def _missing(training: Training) -> Iterator[Advice]:
    evaluation = training.evaluation
    if evaluation is None:
        return
    images = "the validation set" if evaluation.images is None else counted(evaluation.images, "validation image")
    if evaluation.boxes is not None and not evaluation.boxes.truths:
        yield Advice(
            Code.VALIDATION_WITHOUT_OBJECTS,
            Severity.ERROR,
            f"No box was found in {images}, so there is no mAP (COCO's figure is -1 then).",
            "Add images with boxes to the validation set; if it has some, their class names or ids are not those of "
            "the label map.",
            {"images": evaluation.images or 0, "truths": 0},
        )
    elif not evaluation.has_metrics:
        yield Advice(
            Code.MAP_MISSING,
            Severity.ERROR,
            f"The evaluation at step {evaluation.step:,} has losses but no mAP (COCO's figure is -1 where it finds no "
            f"object).",
            "Check that the validation images have boxes whose classes are in the label map, and read the warnings "
            "of the evaluation in the log.",
            {"step": evaluation.step},
        )


def _zero(training: Training) -> Iterator[Advice]:
    newest = training.newest_map
    if newest is None or newest >= _USELESS or not training.is_over:
        return
    seen, fewest = training.images_seen, training.fewest_images
    evidence: dict[str, float] = {"mAP": newest, "images_seen": seen}
    if seen < fewest:
        yield Advice(
            Code.TRAINED_TOO_BRIEFLY,
            Severity.WARNING,
            f"The mAP is {figure(newest)} after {counted(training.step, 'step')} of {training.batch_size:,}: only "
            f"{counted(seen, 'image')} were seen.",
            f"Train at least {counted(-(-fewest // max(1, training.batch_size)), 'step')}, or leave train.steps out"
            + ("." if training.is_warm else ", or start from a checkpoint."),
            evidence,
        )
        return
    boxes, best = training.boxes, ""
    if boxes is not None:
        best = "" if boxes.predictions else f"; the best score of a prediction is {figure(boxes.best_score)}"
        evidence |= {"predictions": boxes.predictions, "best_score": boxes.best_score, "truths": boxes.truths}
    yield Advice(
        Code.MAP_ZERO,
        Severity.ERROR,
        f"The mAP is {figure(newest)} after {counted(training.step, 'step')} and {counted(seen, 'image')}{best}.",
        "Compare truth and prediction in the samples: if the truth is wrong, correct the dataset; if it is right, "
        "start from a checkpoint, or check the learning rate and the augmentation of your pipeline_config.",
        evidence,
    )


def _masks(training: Training) -> Iterator[Advice]:
    if not training.is_over or not training.mask_map or training.newest_map is None:
        return
    boxes, masks = training.newest_map, training.mask_map[-1].value
    if boxes >= _BOXES_WORK and masks <= _MASKS_DO_NOT:
        yield Advice(
            Code.MASKS_DO_NOT_FIT,
            Severity.ERROR,
            f"The boxes have an mAP of {figure(boxes)}, the masks of {figure(masks)}.",
            "Check the masks of the dataset: one PNG for each box, in the order of the boxes, as large as the image, "
            "with the object's pixels above 0.",
            {"mAP": boxes, "mask_mAP": masks},
        )


def _memorised(training: Training) -> Iterator[Advice]:
    """The training loss still falls after the best evaluation, while the results on other images become worse."""
    found = training.box_map
    if len(found) < _FEWEST_EVALUATIONS or not _has_repeated(training):
        return
    best = max(found, key=lambda point: point.value)
    after = [point for point in found if point.step > best.step]
    if best.value < _BEST_AT_LEAST or len(after) < 2 or not _still_learns(training.loss, best.step):
        return
    lost = best.value - max(point.value for point in after[-2:])  # both of the last two are worse
    risen = _risen(training.validation_loss, best.step)
    if lost >= max(_LOST * best.value, _LOST_AT_LEAST) or (risen is not None and lost > 0):
        seen = f"The mAP fell from {figure(best.value)} at step {best.step:,} to {figure(found[-1].value)}"
        seen += f", the validation loss rose from {figure(risen[0])} to {figure(risen[1])}" if risen else ""
        yield Advice(
            Code.MEMORISED,
            Severity.WARNING,
            f"{seen}, while the training loss went on falling: the model memorises the training images.",
            f"Train about {best.step:,} steps, or add training images or augmentation.",
            {"best_mAP": best.value, "best_step": best.step, "mAP": found[-1].value},
        )


def _has_repeated(training: Training) -> bool:
    boxes = training.boxes
    if boxes is not None and boxes.truths < _FEWEST_BOXES:
        return False
    return training.images is None or training.images_seen >= _FEWEST_EPOCHS * training.images


def _still_learns(loss: Sequence[Point], best_step: int) -> bool:
    """Whether the end of training has a clearly lower loss than the time around the best evaluation."""
    width = max(3, len(loss) // 10)
    before, after = [one for one in loss if one.step <= best_step], [one for one in loss if one.step > best_step]
    if len(before) < width or len(after) < width:
        return False
    return median(after[-width:]) <= _LEARNED * median(before[-width:])


def _risen(losses: Sequence[Point], best_step: int) -> tuple[float, float] | None:
    """The validation loss at its lowest and now, where it has risen clearly in the last two evaluations."""
    if len(losses) < _FEWEST_EVALUATIONS:
        return None
    lowest = min(point.value for point in losses)
    newest = min(point.value for point in losses[-2:])
    return (lowest, losses[-1].value) if lowest > 0 and newest >= _RISEN * lowest else None
