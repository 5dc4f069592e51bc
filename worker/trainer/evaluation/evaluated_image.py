"""One validation image after detection: its record, and its boxes in pixels of the original image."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from object_detection.core import standard_fields

from worker.trainer.evaluation import masks
from worker.trainer.evaluation.evaluators import MaskEvaluator
from worker.trainer.evaluation.samples import Objects, pasted

FIELDS = standard_fields.InputDataFields
DETECTION = standard_fields.DetectionResultFields
_OF_TRUTHS = (
    FIELDS.groundtruth_boxes,
    FIELDS.groundtruth_classes,
    FIELDS.groundtruth_area,
    FIELDS.groundtruth_is_crowd,
    FIELDS.groundtruth_difficult,
    FIELDS.groundtruth_group_of,
)


class EvaluatedImage:
    def __init__(
        self, number: int, record: bytes, results: Mapping[str, Any], detected_masks: Any, class_ids: Mapping[str, int]
    ) -> None:
        self.number = number
        self._features = tf.train.Example.FromString(record).features.feature
        self._class_ids = class_ids
        self._results = self._without_padding(results)
        # Not the record's source id: it may be missing, and evaluators skip a second image with the same id.
        self._results[FIELDS.key] = np.array([number])
        self._detected_masks = None if detected_masks is None else detected_masks.numpy()[0].astype(np.float32)
        height, width = self._results[FIELDS.original_image_spatial_shape][0]
        self.size = (int(height), int(width))

    @staticmethod
    def _without_padding(results: Mapping[str, Any]) -> dict[str, Any]:
        """Remove padding: some of the OD API's evaluators count padded truths as objects of the first class."""
        arrays = {name: value.numpy() for name, value in results.items()}
        [truths], [found] = arrays[FIELDS.num_groundtruth_boxes], arrays[DETECTION.num_detections]
        for name, value in arrays.items():
            if name in _OF_TRUTHS:
                arrays[name] = value[:, :truths]
            elif name.startswith("detection_"):
                arrays[name] = value[:, :found]
        return arrays

    @property
    def encoded(self) -> bytes:
        """The encoded image file."""
        return bytes(self._features["image/encoded"].bytes_list.value[0])

    def add_to(self, evaluator: Any) -> None:
        if isinstance(evaluator, MaskEvaluator):
            self._add_masks_to(evaluator)
        else:
            wants_masks = getattr(evaluator, "_evaluate_masks", False)
            results = self._results | self._whole_masks() if wants_masks else self._results
            with tf.device("CPU:0"):  # masks of whole photographs would fill a GPU
                evaluator.add_eval_dict({name: tf.constant(value) for name, value in results.items()})

    def _add_masks_to(self, evaluator: MaskEvaluator) -> None:
        for category, mask, is_crowd in masks.of_record(self._features, self._class_ids):
            evaluator.add_truth(self.number, category, mask, is_crowd)
        found = self.prediction()
        detected = self._masks()[: len(found.boxes)]
        for category, score, mask, box in zip(found.classes, found.scores, detected, self._shares(), strict=True):
            evaluator.add_detection(self.number, int(category), float(score), mask, box, self.size)

    def _masks(self) -> Any:
        """The detected masks, relative to their boxes."""
        if self._detected_masks is None:
            raise ValueError("the model predicts no masks")
        return self._detected_masks

    def _shares(self) -> Any:
        """The detected boxes as fractions of the image's height and width."""
        return self._results[DETECTION.detection_boxes][0] / np.array([*self.size, *self.size], np.float32)

    def _whole_masks(self) -> dict[str, Any]:
        """All masks at full image size, in host memory, as Pascal VOC's metrics need them."""
        truth = [mask for _, mask, _ in masks.of_record(self._features, self._class_ids)]
        found = [pasted(mask, box, *self.size) for mask, box in zip(self._masks(), self._shares(), strict=False)]
        none = np.zeros((0, *self.size), np.uint8)
        return {
            FIELDS.groundtruth_instance_masks: np.stack(truth).astype(np.uint8)[None] if truth else none[None],
            DETECTION.detection_masks: np.stack(found)[None] if found else none[None],
        }

    def crowds(self) -> Any:
        """For each true box, whether it stands for a crowd."""
        boxes = self._results[FIELDS.groundtruth_boxes]
        return np.asarray(self._results.get(FIELDS.groundtruth_is_crowd, np.zeros(boxes.shape[:2])))[0].astype(bool)

    def network_scale(self) -> tuple[float, float]:
        """Pixels of the network's image for one of the original, down and across. Padding does not count."""
        height, width = self._results[FIELDS.true_image_shape][0][:2]
        return float(height) / self.size[0], float(width) / self.size[1]

    def truth(self) -> Objects:
        boxes = self._results[FIELDS.groundtruth_boxes][0]
        encoded = [*self._features["image/object/mask"].bytes_list.value]
        has_masks = self._detected_masks is not None and len(encoded) == len(boxes)
        classes = self._results[FIELDS.groundtruth_classes][0]
        return Objects(True, boxes, classes, np.ones(len(boxes), np.float32), encoded if has_masks else None)

    def prediction(self) -> Objects:
        boxes = self._results[DETECTION.detection_boxes][0]
        return Objects(
            False,
            boxes,
            self._results[DETECTION.detection_classes][0],
            self._results[DETECTION.detection_scores][0],
            None if self._detected_masks is None else self._detected_masks[: len(boxes)],
        )
