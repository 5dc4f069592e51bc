"""A detector with fixed detections behind a real model's preprocessing, and images with known objects.

Import only after `compat.install()`.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from object_detection.core import model as od_model
from PIL import Image

from services.datasets import examples
from services.domain import tfrecord

Box = tuple[float, float, float, float]  # ymin, xmin, ymax, xmax, in fractions of the image


class KnownDetector(od_model.DetectionModel):
    """Detects the boxes `found` in each image, each with its class (from 1), in fractions of the true image.

    With `has_masks`, each detection has a mask that fills its box.
    """

    def __init__(self, real: Any, found: Sequence[tuple[int, Box]], *, has_masks: bool = False) -> None:
        super().__init__(num_classes=real.num_classes)
        self._real = real
        self._found = {
            "detection_boxes": tf.constant([[box for _, box in found]], tf.float32),
            "detection_scores": tf.constant([[0.9] * len(found)]),
            "detection_classes": tf.constant([[category - 1.0 for category, _ in found]]),
            "num_detections": tf.constant([float(len(found))]),
        }
        if has_masks:
            self._found["detection_masks"] = tf.ones([1, len(found), 15, 15])

    def preprocess(self, inputs: Any) -> Any:
        return self._real.preprocess(inputs)

    def predict(self, preprocessed_inputs: Any, true_image_shapes: Any, **_: Any) -> dict[str, Any]:
        return {"mean": tf.reduce_mean(preprocessed_inputs)}

    def loss(self, prediction_dict: dict[str, Any], true_image_shapes: Any, **_: Any) -> dict[str, Any]:
        return {"Loss/none": 0.0 * prediction_dict["mean"]}

    def postprocess(self, prediction_dict: Any, true_image_shapes: Any, **_: Any) -> Any:
        return dict(self._found)

    def regularization_losses(self) -> list[Any]:
        return []

    def provide_groundtruth(self, *_: Any, **__: Any) -> None: ...

    def restore_map(self, *_: Any, **__: Any) -> Any: ...

    def restore_from_objects(self, *_: Any, **__: Any) -> Any: ...

    def updates(self) -> list[Any]:
        return []


def write_records(path: Path, sizes: Sequence[tuple[int, int]], objects: Sequence[Sequence[tuple[str, Box]]]) -> None:
    """Write black images of these sizes (height, width) with these objects, whose masks fill their boxes."""
    tfrecord.write(path, (_record(*size, found) for size, found in zip(sizes, objects, strict=True)))


def _record(height: int, width: int, objects: Sequence[tuple[str, Box]]) -> bytes:
    sides = [[round(side * scale) for side, scale in zip(box, (height, width) * 2, strict=True)] for _, box in objects]
    return examples.encode(
        byte_lists={
            "image/encoded": [_encode(np.zeros((height, width, 3), np.uint8), "JPEG")],
            "image/format": [b"jpeg"],
            "image/object/class/text": [name.encode() for name, _ in objects],
            "image/object/mask": [_filled(height, width, box) for box in sides],
        },
        floats={
            "image/object/bbox/ymin": [side[0] / height for side in sides],
            "image/object/bbox/xmin": [side[1] / width for side in sides],
            "image/object/bbox/ymax": [side[2] / height for side in sides],
            "image/object/bbox/xmax": [side[3] / width for side in sides],
        },
        ints={"image/height": [height], "image/width": [width]},
    )


def _filled(height: int, width: int, box: Sequence[int]) -> bytes:
    top, left, bottom, right = box
    mask = np.zeros((height, width), np.uint8)
    mask[top:bottom, left:right] = 1
    return _encode(mask, "PNG")


def _encode(image: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind)
    return buffer.getvalue()
