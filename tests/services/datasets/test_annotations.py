"""Checks of one example: a problem for the Object Detection API is named with its field."""

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from services.datasets import annotations, label_map
from services.datasets.annotations import Annotated

LABELS = label_map.parse(Path("map"), "item { id: 1 name: 'cat' } item { id: 3 name: 'dog' display_name: 'Dog' }")


def picture(kind: str = "JPEG", size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, 1).save(buffer, kind)
    return buffer.getvalue()


def example(**changes: Any) -> dict[str, Any]:
    """An example with a cat and a dog. `changes` name the last part of a feature; None removes it."""
    mask = picture("PNG", mode="L")
    features: dict[str, Any] = {
        "image/encoded": [picture()],
        "image/format": [b"jpeg"],
        "image/source_id": [b"7"],
        "image/height": [30],
        "image/width": [40],
        "image/object/bbox/ymin": [0.0, 0.5],
        "image/object/bbox/xmin": [0.0, 0.5],
        "image/object/bbox/ymax": [0.5, 1.0],
        "image/object/bbox/xmax": [0.5, 1.0],
        "image/object/class/text": [b"cat", b"Dog"],
        "image/object/class/label": [1, 3],
        "image/object/mask": [mask, mask],
        "image/object/is_crowd": [0, 0],
    }
    for name in features.copy():
        if (short := name.rpartition("/")[2]) in changes:
            features[name] = changes.pop(short)
    features |= {f"image/object/{name}": value for name, value in changes.items()}
    return {name: value for name, value in features.items() if value is not None}


def examined(**changes: Any) -> Annotated:
    return annotations.examine(example(**changes), LABELS)


def test_a_good_example_is_read() -> None:
    found = examined()
    assert (found.problems, found.remarks) == ([], [])
    assert (found.objects, found.classes, found.has_masks) == (2, [1, 3], True)


@pytest.mark.parametrize(
    "changes",
    [
        {"text": None},
        {"label": None},
        {"height": None, "width": None},
        {"source_id": None, "format": None, "is_crowd": None},
        {"encoded": [picture("PNG")], "format": [b"png"]},
        {"encoded": [picture("JPEG", mode="L")]},
        {"encoded": [picture() + bytes(100)]},  # some cameras append data
        {"ymin": [0.0, -0.005], "xmax": [1.005, 1.0]},
        {"weight": [1.0, 0.5]},
    ],
)
def test_optional_fields_may_be_missing(changes: dict[str, Any]) -> None:
    found = examined(**changes)
    assert found.problems == []
    assert found.classes == [1, 3]


def test_an_image_may_have_no_objects() -> None:
    nothing = dict.fromkeys(("ymin", "xmin", "ymax", "xmax", "text", "label", "mask", "is_crowd"))
    empties: tuple[Any, ...] = (None, [])
    for empty in empties:
        found = examined(**dict.fromkeys(nothing, empty))
        assert (found.problems, found.objects, found.has_masks) == ([], 0, False)


def test_masks_may_be_missing() -> None:
    found = examined(mask=None)
    assert (found.problems, found.has_masks) == ([], False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoded": None}, "image/encoded: there is no image"),
        ({"encoded": [b""]}, "image/encoded: there is no image"),
        ({"encoded": []}, "image/encoded: holds 0 values"),
        ({"encoded": [b"GIF89a" + bytes(50)]}, "image/encoded: is not a whole JPEG or PNG image"),
        ({"encoded": [picture("GIF")]}, "image/encoded: is not a whole JPEG or PNG image"),
        ({"encoded": [picture()[:-2]]}, "image/encoded: is not a whole JPEG or PNG image (its end is missing)"),
        ({"encoded": [picture("PNG")[:-20]]}, "image/encoded: is not a whole JPEG or PNG image"),
        ({"encoded": [1]}, "image/encoded: holds whole numbers (int64); write bytes"),
        ({"format": [b"raw"]}, "image/format: is raw"),
        ({"height": [40], "width": [30]}, "image/height: is 40, but the image has 30; write the image's own"),
        ({"width": [40, 40]}, "image/width: holds 2 values; write one"),
        ({"ymin": [0.0]}, "image/object/bbox: 1 ymin, 2 xmin, 2 ymax, 2 xmax; write one of each"),
        ({"ymin": [0, 0]}, "image/object/bbox/ymin: holds whole numbers (int64); write floats"),
        ({"xmax": [0.5, 640.0]}, "image/object/bbox: object 1: xmax is 640; write 0 to 1: pixels divided by"),
        ({"xmin": [-0.02, 0.5]}, "image/object/bbox: object 0: xmin is -0.02; write 0 to 1"),
        ({"ymax": [0.5, float("nan")]}, "image/object/bbox: object 1: ymax is nan; fix it"),
        ({"ymax": [0.0, 1.0]}, "image/object/bbox: object 0: ymin 0 is not below ymax 0; fix it, or remove"),
        ({"xmin": [0.9, 0.5]}, "image/object/bbox: object 0: xmin 0.9 is not below xmax 0.5"),
        ({"text": [b"cat", b"Dgo"]}, "image/object/class/text: 'Dgo' is not in the label map; did you mean 'Dog'?"),
        ({"text": [b"cat", b"\xff"]}, "image/object/class/text: '\ufffd' is not in the label map; add it there"),
        ({"text": [b"cat", b""]}, "image/object/class/text: '' is not in the label map"),
        ({"text": [b"cat"]}, "image/object/class/text: 1 values for 2 boxes"),
        ({"text": None, "label": [1, 2]}, "image/object/class/label: 2 is not in the label map, the classes are those"),
        ({"text": None, "label": [1.0, 3.0]}, "image/object/class/label: holds floats; write whole numbers"),
        ({"text": None, "label": None}, "image/object/class/text: the boxes have no class"),
        ({"mask": [picture("PNG")]}, "image/object/mask: 1 values for 2 boxes"),
        ({"mask": [0.0, 1.0]}, "image/object/mask: holds floats; write bytes"),
        ({"mask": [picture("PNG"), picture()]}, "image/object/mask: object 1: is not a whole PNG image"),
        ({"mask": [picture("PNG"), picture("PNG")[:40]]}, "image/object/mask: object 1: is not a whole PNG image"),
        ({"mask": [picture("PNG", (30, 40))] * 2}, "image/object/mask: object 0: 30x40 pixels, its image 40x30"),
        ({"is_crowd": [0]}, "image/object/is_crowd: 1 values for 2 boxes"),
        ({"area": [1]}, "image/object/area: holds whole numbers (int64); write floats"),
    ],
)
def test_a_problem_is_named_with_its_field(changes: dict[str, Any], message: str) -> None:
    problems = examined(**changes).problems
    assert any(problem.startswith(message) for problem in problems), problems


def test_an_image_too_large_to_decode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "MAX_PIXELS", 1000)
    assert examined().problems == ["image/encoded: 40x30 pixels; scale it down, 1,000 are the most"]


def test_several_mistakes_are_reported_together() -> None:
    problems = examined(height=[1], xmin=[0.9, 0.5], text=[b"cow", b"Dog"]).problems
    assert [problem.partition(":")[0] for problem in problems] == [
        "image/height",
        "image/object/bbox",
        "image/object/class/text",
    ]


def test_a_possible_mistake_is_only_a_remark() -> None:
    assert examined(ymax=[1.009, 1.0]).remarks == [annotations.OUTSIDE]
    disagreeing = examined(label=[3, 1])
    assert (disagreeing.remarks, disagreeing.classes) == ([annotations.DISAGREES], [1, 3])
