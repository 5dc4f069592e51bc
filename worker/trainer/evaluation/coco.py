"""COCO's twelve figures, over all categories and for each one, computed with pycocotools.

pycocotools holds one table for all categories: 2 GB for 10,000 of them. So categories are evaluated a few at a time.
The mean over categories is the same as COCO's, because each category with objects has the same number of entries.
"""

import contextlib
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval, Params

_AT_ONCE = 100  # categories
# By the OD API's name: table, IoU threshold (None: mean over all thresholds), area range, maximum detections.
_FIGURES: dict[str, tuple[str, float | None, str, int]] = {
    "Precision/mAP": ("precision", None, "all", 100),
    "Precision/mAP@.50IOU": ("precision", 0.5, "all", 100),
    "Precision/mAP@.75IOU": ("precision", 0.75, "all", 100),
    "Precision/mAP (small)": ("precision", None, "small", 100),
    "Precision/mAP (medium)": ("precision", None, "medium", 100),
    "Precision/mAP (large)": ("precision", None, "large", 100),
    "Recall/AR@1": ("recall", None, "all", 1),
    "Recall/AR@10": ("recall", None, "all", 10),
    "Recall/AR@100": ("recall", None, "all", 100),
    "Recall/AR@100 (small)": ("recall", None, "small", 100),
    "Recall/AR@100 (medium)": ("recall", None, "medium", 100),
    "Recall/AR@100 (large)": ("recall", None, "large", 100),
}
_MAIN = "Precision/mAP"
_PARAMS = Params()

Annotations = Sequence[dict[str, Any]]


def figures(
    iou_type: str,
    categories: Sequence[Mapping[str, Any]],
    truths: Annotations,
    detections: Annotations,
    *,
    all_of_each: bool = False,
    super_categories: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, float]:
    """The figures by the OD API's names. Categories and area ranges without objects are left out.

    `iou_type` is "bbox" or "segm". `all_of_each` gives all twelve figures of each category, not only its mAP.
    """
    of_each = _of_each_category(iou_type, truths, detections)
    names = {category["id"]: str(category["name"]) for category in categories}
    found = {name: _mean([of_one[name] for of_one in of_each.values() if name in of_one]) for name in _FIGURES}
    for category, of_one in of_each.items():
        if _MAIN in of_one:
            found[f"PerformanceByCategory/mAP/{names[category]}"] = of_one[_MAIN]
        if all_of_each:
            found |= {f"{name} ByCategory/{names[category]}": value for name, value in of_one.items()}
    for group, members in (super_categories or {}).items():
        of_members = [of_one[_MAIN] for one, of_one in of_each.items() if names[one] in members and _MAIN in of_one]
        found[f"PerformanceBySuperCategory/{group}"] = _mean(of_members)
    return {name: value for name, value in found.items() if value is not None}


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _of_each_category(iou_type: str, truths: Annotations, detections: Annotations) -> dict[int, dict[str, float]]:
    """Figures by category. COCO leaves out categories without objects, even if something was detected."""
    truths_of, detections_of = _by_category(truths), _by_category(detections)
    found = {category: _undetected(mine) for category, mine in truths_of.items() if category not in detections_of}
    chosen = sorted(truths_of.keys() & detections_of.keys())
    for start in range(0, len(chosen), _AT_ONCE):
        some = chosen[start : start + _AT_ONCE]
        some_truths = [one for category in some for one in truths_of[category]]
        some_detections = [one for category in some for one in detections_of[category]]
        found.update(_read_tables(_evaluated(iou_type, some, some_truths, some_detections)))
    return found


def _undetected(truths: Annotations) -> dict[str, float]:
    """Zero for each area range with objects. pycocotools gives the same, but takes 3 ms per category."""
    ranges = zip(_PARAMS.areaRngLbl, _PARAMS.areaRng, strict=True)
    areas = [one["area"] for one in truths if not one["iscrowd"]]
    present = {label for label, (least, most) in ranges if any(least <= area <= most for area in areas)}
    return {name: 0.0 for name, (_, _, area, _) in _FIGURES.items() if area in present}


def _by_category(annotations: Annotations) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for annotation in annotations:
        found[annotation["category_id"]].append(annotation)
    return found


def _evaluated(iou_type: str, categories: list[int], truths: Annotations, detections: Annotations) -> Any:
    images: dict[int, dict[str, int]] = {}
    for one in (*truths, *detections):
        height, width = one["segmentation"]["size"] if iou_type == "segm" else (0, 0)
        images[one["image_id"]] = {"id": one["image_id"], "height": height, "width": width}
    with contextlib.redirect_stdout(io.StringIO()):  # pycocotools prints its progress and a table
        truth = COCO()
        truth.dataset = {
            "info": {},
            "images": [images[image] for image in sorted(images)],
            "categories": [{"id": category} for category in categories],
            "annotations": list(truths),
        }
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(list(detections)), iou_type)
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation


def _read_tables(evaluation: Any) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each category with its figures. The tables hold -1 where there is no object in an area range."""
    params, tables = evaluation.params, evaluation.eval
    columns: dict[str, Any] = {}
    for name, (kind, overlap, area, most) in _FIGURES.items():
        overlaps = slice(None) if overlap is None else np.isclose(params.iouThrs, overlap)
        place = (params.areaRngLbl.index(area), params.maxDets.index(most))
        values = tables[kind][..., *place][overlaps]
        columns[name] = values.reshape(-1, values.shape[-1]).mean(axis=0)
    for position, category in enumerate(params.catIds):
        yield int(category), {name: float(of[position]) for name, of in columns.items() if of[position] > -1}
