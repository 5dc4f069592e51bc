"""The OD API's evaluation metrics (EVAL_METRICS_CLASS_DICT of its eval_util.py) that can be computed here.

Left out are metrics that need more ground truth than boxes and masks: coco_keypoint_metrics, coco_panoptic_metrics,
and lvis_mask_metrics and the oid_challenge_… ones with their lists of verified classes.
"""

from typing import Any

COCO_BOXES = "coco_detection_metrics"  # the OD API's default
COCO_MASKS = "coco_mask_metrics"

BOX_METRICS = (
    COCO_BOXES,
    "pascal_voc_detection_metrics",
    "weighted_pascal_voc_detection_metrics",
    "precision_at_recall_detection_metrics",
    "oid_V2_detection_metrics",
)
MASK_METRICS = (
    COCO_MASKS,
    "pascal_voc_instance_segmentation_metrics",
    "weighted_pascal_voc_instance_segmentation_metrics",
)


def evaluates_boxes(config: Any) -> bool:
    """Whether evaluations give COCO's figures of boxes."""
    names = config.eval_config.metrics_set
    return not names or COCO_BOXES in names
