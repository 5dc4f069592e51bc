"""Compute mean average precision without the trainer, from the exported model, the records and pycocotools.

`annotate` makes the validation set. After seconds of training a model detects no real object, and comparing 0 with 0
would hide every mistake. So the images are annotated with the model's own detections, some moved and some left out.
Then the precision is neither 0 nor 1, and a shift by one pixel changes it.

Import only after `compat.install()`.
"""

import contextlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from object_detection.utils import ops
from PIL import Image
from pycocotools import mask as rle
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from services.datasets import examples
from services.domain import tfrecord

_FOUND_OF_EACH = 24  # detections per image, some of which become annotations
_LEAST_SIDE = 6  # pixels


class Exported:
    """Calls the exported model. Returns boxes in pixels, and masks of the image's size."""

    def __init__(self, export: Path) -> None:
        self._detect = tf.saved_model.load(str(export / "saved_model"))
        self.weights = self._detect.weights

    def mask_shift(self, image: Any) -> float:
        """The value to add to the masks' logits so that half of their pixels are inside."""
        soft = self._detect(tf.constant(image[None]))["detection_masks"].numpy()
        return -float(np.median(np.log(soft / (1 - soft))))

    def __call__(self, image: Any) -> Iterator[dict[str, Any]]:
        height, width = image.shape[:2]
        found = {name: value[0] for name, value in self._detect(tf.constant(image[None])).items()}
        masks = None
        if "detection_masks" in found:
            masks = ops.reframe_box_masks_to_image_masks(
                found["detection_masks"], found["detection_boxes"], height, width
            ).numpy()
        boxes = found["detection_boxes"].numpy() * [height, width, height, width]
        for number in range(int(found["num_detections"])):
            yield {
                "box": boxes[number],
                "score": float(found["detection_scores"][number]),
                "class": int(found["detection_classes"][number]),
                "mask": None if masks is None else masks[number] > 0.5,
            }


def shift_masks(weights: Iterable[Any], shift: float) -> None:
    """Fill the masks, which are empty after seconds of training, so that their position can be compared."""
    [bias] = [weight for weight in weights if weight.name.endswith("MaskPredictor_last_conv2d/bias:0")]
    bias.assign_add(tf.fill(bias.shape, shift))


def annotate(path: Path, exported: Exported, images: Sequence[Any], names: Sequence[str]) -> int:
    """Write records of these images with objects near the model's detections. Returns the most objects in an image."""
    random = np.random.default_rng(0)
    objects = [list(_objects(random, exported(image), *image.shape[:2])) for image in images]
    tfrecord.write(path, (_record(image, found, names) for image, found in zip(images, objects, strict=True)))
    return max(map(len, objects))


def _objects(random: Any, found: Iterator[dict[str, Any]], height: int, width: int) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(found):
        if number >= _FOUND_OF_EACH or number % 3 == 1:
            continue
        top, left, bottom, right = (round(float(side)) for side in one["box"])
        move = random.integers(-2, 3, 2) * (number % 2)
        top, bottom = (int(np.clip(side + move[0], 0, height)) for side in (top, bottom))
        left, right = (int(np.clip(side + move[1], 0, width)) for side in (left, right))
        if min(bottom - top, right - left) < _LEAST_SIDE:
            continue
        mask = np.zeros((height, width), bool)
        mask[top:bottom, left:right] = True
        if one["mask"] is not None and one["mask"].sum() > 50:
            mask = np.roll(one["mask"], move, (0, 1))
        yield {"box": (top, left, bottom, right), "class": one["class"], "mask": mask}


def _record(image: Any, objects: Sequence[dict[str, Any]], names: Sequence[str]) -> bytes:
    height, width = image.shape[:2]
    sides = np.array([one["box"] for one in objects], float) / [height, width, height, width]
    return examples.encode(
        byte_lists={
            "image/encoded": [_png(image)],
            "image/format": [b"png"],
            "image/object/class/text": [names[one["class"] - 1].encode() for one in objects],
            "image/object/mask": [_png(one["mask"].astype(np.uint8)) for one in objects],
        },
        floats={
            f"image/object/bbox/{name}": sides[:, column].tolist()
            for column, name in enumerate(("ymin", "xmin", "ymax", "xmax"))
        },
        ints={"image/height": [height], "image/width": [width]},
    )


def _png(image: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def mean_precisions(exported: Exported, files: Sequence[Path], names: Sequence[str]) -> dict[str, float]:
    """COCO's mAP of the exported model on the records' images and annotations.

    By kind: "bbox", and "segm" if the model has masks. Reads the records itself, in pixels, without the trainer's code.
    """
    truth: dict[str, Any] = {"info": {}, "images": [], "annotations": [], "categories": []}
    truth["categories"] = [{"id": number, "name": name} for number, name in enumerate(names, start=1)]
    boxes: list[dict[str, Any]] = []
    masks: list[dict[str, Any]] = []
    for image_id, record in enumerate(tf.data.TFRecordDataset([*map(str, files)]), start=1):
        feature = tf.train.Example.FromString(record.numpy()).features.feature
        image = np.asarray(Image.open(io.BytesIO(feature["image/encoded"].bytes_list.value[0])))
        height, width = image.shape[:2]
        truth["images"].append({"id": image_id, "height": height, "width": width})
        truth["annotations"] += [
            {**one, "id": len(truth["annotations"]) + number, "image_id": image_id}
            for number, one in enumerate(_annotations(feature, names, height, width), start=1)
        ]
        for one in exported(image):
            found = {"image_id": image_id, "category_id": one["class"], "score": one["score"]}
            boxes.append({**found, "bbox": _xywh(one["box"])})
            if one["mask"] is not None:
                masks.append({**found, "segmentation": rle.encode(np.asfortranarray(one["mask"], np.uint8))})
    return {kind: _coco(truth, found, kind) for kind, found in (("bbox", boxes), ("segm", masks)) if found}


def _annotations(feature: Any, names: Sequence[str], height: int, width: int) -> Iterator[dict[str, Any]]:
    sides = [feature[f"image/object/bbox/{name}"].float_list.value for name in ("ymin", "xmin", "ymax", "xmax")]
    texts = feature["image/object/class/text"].bytes_list.value
    masks = feature["image/object/mask"].bytes_list.value
    for *box, text, png in zip(*sides, texts, masks, strict=True):
        mask = np.asarray(Image.open(io.BytesIO(png)))
        yield {
            "category_id": names.index(text.decode()) + 1,
            "bbox": _xywh(np.array(box) * [height, width, height, width]),
            "area": float(mask.sum()),
            "iscrowd": 0,
            "segmentation": rle.encode(np.asfortranarray(mask)),
        }


def _xywh(box: Any) -> list[float]:
    return [float(box[1]), float(box[0]), float(box[3] - box[1]), float(box[2] - box[0])]


def _coco(truth: dict[str, Any], detections: list[dict[str, Any]], kind: str) -> float:
    with contextlib.redirect_stdout(io.StringIO()):
        annotated = COCO()
        annotated.dataset = truth
        annotated.createIndex()
        evaluation = COCOeval(annotated, annotated.loadRes(detections), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[0])
