"""Build the evaluators of `eval_config.metrics_set`: the OD API's, with its two COCO evaluators replaced by ours."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from object_detection import eval_util
from object_detection.metrics import coco_evaluation
from pycocotools import mask as rle

from worker.trainer.evaluation import coco, masks

Categories = Sequence[Mapping[str, Any]]


def build(eval_config: Any, categories: Categories) -> dict[str, Any]:
    """One evaluator per configured metric, by name. The COCO evaluators also give figures for each category."""
    options = eval_util.evaluator_options_from_eval_config(eval_config)
    names = list(eval_config.metrics_set) or [eval_util.EVAL_DEFAULT_METRIC]
    return {name: _CLASSES[name](list(categories), **options.get(name, {})) for name in names}


class BoxEvaluator(coco_evaluation.CocoDetectionEvaluator):
    def evaluate(self) -> dict[str, float]:
        return _figures(self, "bbox", "DetectionBoxes", self._detection_boxes_list)


class MaskEvaluator(coco_evaluation.CocoMaskEvaluator):
    """Takes one object at a time: true masks at image size, detected masks relative to their boxes."""

    def add_truth(self, image_id: int, category: int, mask: Any, is_crowd: bool) -> None:
        if category not in self._category_id_set:
            return
        compressed = rle.encode(np.asfortranarray(mask, np.uint8))
        self._groundtruth_list.append(
            {
                "id": len(self._groundtruth_list) + 1,
                "image_id": image_id,
                "category_id": category,
                "iscrowd": int(is_crowd),
                "area": float(rle.area(compressed)),
                "bbox": rle.toBbox(compressed).tolist(),
                "segmentation": compressed,
            }
        )

    def add_detection(
        self, image_id: int, category: int, score: float, mask: Any, box: masks.Box, size: tuple[int, int]
    ) -> None:
        if category not in self._category_id_set:
            return
        compressed = masks.compress(*masks.paste(mask, box, *size), *size)
        self._detection_masks_list.append(
            {"image_id": image_id, "category_id": category, "score": score, "segmentation": compressed}
        )

    def evaluate(self) -> dict[str, float]:
        return _figures(self, "segm", "DetectionMasks", self._detection_masks_list)


def _figures(evaluator: Any, iou_type: str, prefix: str, detections: coco.Annotations) -> dict[str, float]:
    found = coco.figures(
        iou_type,
        evaluator._categories,
        evaluator._groundtruth_list,
        detections,
        all_of_each=evaluator._all_metrics_per_category,
        super_categories=evaluator._super_categories,
    )
    return {f"{prefix}_{name}": value for name, value in found.items()}


_CLASSES = {
    **eval_util.EVAL_METRICS_CLASS_DICT,
    "coco_detection_metrics": BoxEvaluator,
    "coco_mask_metrics": MaskEvaluator,
}
