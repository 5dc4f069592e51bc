"""Our figures equal those of pycocotools, for any number of categories and any detections."""

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from worker.trainer.evaluation import coco

CATEGORIES = [{"id": number, "name": f"class {number}"} for number in range(1, 13)]


def annotations(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Objects of all sizes, some crowds, detected well or roughly; two categories undetected, one without objects."""
    random = np.random.default_rng(seed)
    truths: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for image in range(6):
        for _ in range(15):
            category, side = int(random.integers(1, 12)), float(random.choice([12, 50, 120]))
            x, y = random.uniform(0, 200, 2)
            is_crowd = int(random.random() < 0.1)
            box = [x, y, side, side]
            about = {"image_id": image, "category_id": category}
            truths.append({**about, "id": len(truths) + 1, "bbox": box, "area": side * side, "iscrowd": is_crowd})
            if category > 2 and random.random() < 0.8:
                moved = [x + random.normal(0, side / 10), y, side, side]
                found.append({**about, "bbox": moved, "score": float(random.random())})
        found.append({"image_id": image, "category_id": 12, "bbox": [0.0, 0.0, 9.0, 9.0], "score": 0.5})
    return truths, found


def plainly(truths: list[dict[str, Any]], found: list[dict[str, Any]]) -> Any:
    """The evaluation by pycocotools of all categories at once."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {"info": {}, "images": [{"id": n} for n in range(6)], "categories": CATEGORIES}
        truth.dataset["annotations"] = truths
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


@pytest.mark.parametrize("at_once", [1, 5, 100])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_twelve_figures_are_those_of_pycocotools(seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coco, "_AT_ONCE", at_once)
    truths, found = annotations(seed)
    expected = plainly(truths, [dict(one) for one in found])

    figures = coco.figures("bbox", CATEGORIES, truths, found, all_of_each=True)

    names = list(coco._FIGURES)
    assert [figures[name] for name in names] == pytest.approx(list(expected.stats))
    assert 0.2 < figures["Precision/mAP"] < 0.9
    for position, category in enumerate(CATEGORIES):
        of_one = expected.eval["precision"][:, :, position, 0, 2]
        name = f"PerformanceByCategory/mAP/{category['name']}"
        assert figures.get(name, -1) == pytest.approx(of_one.mean())
        small = expected.eval["recall"][:, position, 1, 2].mean()
        assert figures.get(f"Recall/AR@100 (small) ByCategory/{category['name']}", -1) == pytest.approx(small)


def test_a_super_category_has_the_mean_of_its_categories() -> None:
    truths, found = annotations(3)
    groups = {"some": ["class 1", "class 5", "class 12"]}

    figures = coco.figures("bbox", CATEGORIES, truths, found, super_categories=groups)

    of_members = [figures[f"PerformanceByCategory/mAP/class {number}"] for number in (1, 5)]
    assert figures["PerformanceBySuperCategory/some"] == pytest.approx(sum(of_members) / 2)


def test_without_objects_there_are_no_figures() -> None:
    assert coco.figures("bbox", CATEGORIES, [], []) == {}
