"""The same drawn scenes, written to folders in the formats that people have."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from PIL import Image, ImageDraw

Writer = Callable[[Path, Sequence["Scene"]], None]
CLASSES = ("Hund", "кошка", "猫")  # in the order of their code points, as formats without a list of classes have it
SPLITS = ("train", "validation")
_SIZES = ((48, 80), (96, 64), (64, 64), (50, 70))  # height, width


@dataclass(frozen=True)
class Drawn:
    label: str
    points: tuple[tuple[int, int], ...]  # x, y

    @property
    def flat(self) -> list[int]:
        return [side for point in self.points for side in point]

    @property
    def box(self) -> tuple[int, int, int, int]:
        """x, y, right, bottom."""
        x, y = zip(*self.points, strict=True)
        return min(x), min(y), max(x), max(y)


@dataclass(frozen=True)
class Scene:
    split: str
    name: str
    height: int
    width: int
    objects: tuple[Drawn, ...]

    def picture(self) -> Image.Image:
        pixels = np.random.default_rng(len(self.name) + self.height).integers(0, 90, (self.height, self.width, 3))
        image = Image.fromarray(pixels.astype(np.uint8))
        for item in self.objects:
            ImageDraw.Draw(image).polygon(item.points, fill=(200, 80 * CLASSES.index(item.label), 60))
        return image

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.name
        self.picture().save(path, quality=90)
        return path

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[0]


def scenes(train: int = 6, validation: int = 3) -> list[Scene]:
    """Landscape and portrait, one without objects, objects that do not touch each other."""
    found = []
    for split, count in zip(SPLITS, (train, validation), strict=True):
        for number in range(count):
            height, width = _SIZES[number % len(_SIZES)]
            kind = CLASSES[number % 3]
            left = Drawn(kind, ((4, 5), (21, 5), (21, 30), (12, 38), (4, 30)))
            right = Drawn(CLASSES[(number + 1) % 3], ((28, 8), (44, 10), (39, 41)))
            objects = () if number == 4 else (left,) if number == 3 else (left, right)
            found.append(
                Scene(split, f"{split}_{number:02d}.{'png' if number == 1 else 'jpg'}", height, width, objects)
            )
    return found


def runs_down(scene: Scene, item: Drawn) -> list[int]:
    """COCO's run lengths of the polygon's pixels, by a plain test of each pixel's centre."""
    mask = pixels_inside(scene, item)
    counts, value = [0], False
    for pixel in mask.T.reshape(-1):
        if bool(pixel) != value:
            counts.append(0)
            value = not value
        counts[-1] += 1
    return counts


def pixels_inside(scene: Scene, item: Drawn) -> "np.typing.NDArray[np.bool_]":
    mask = np.zeros((scene.height, scene.width), np.bool_)
    for row in range(scene.height):
        for column in range(scene.width):
            mask[row, column] = _is_inside(column + 0.5, row + 0.5, item.points)
    return mask


def _is_inside(x: float, y: float, points: Sequence[tuple[int, int]]) -> bool:
    inside = False
    for (ax, ay), (bx, by) in zip(points, (*points[1:], points[0]), strict=True):
        if (ay <= y) != (by <= y) and x >= ax + (y - ay) * (bx - ax) / (by - ay):
            inside = not inside
    return inside


def coco_json(given: Sequence[Scene], segmentation: Callable[[Scene, Drawn], Any] | None, first: int = 1) -> Any:
    """`first`: the id of the first category."""
    images: list[Any] = []
    annotations: list[Any] = []
    for number, scene in enumerate(given):
        images.append({"id": 100 - number, "file_name": scene.name, "height": scene.height, "width": scene.width})
        for item in scene.objects:
            left, top, right, bottom = item.box
            entry = {
                "id": len(annotations) + 1,
                "image_id": 100 - number,
                "category_id": CLASSES.index(item.label) + first,
                "bbox": [left, top, right - left, bottom - top],
                "area": 1.0,
                "iscrowd": 0,
            }
            if segmentation is not None:
                entry["segmentation"] = segmentation(scene, item)
            annotations.append(entry)
    categories = [{"id": number, "name": name} for number, name in enumerate(CLASSES, start=first)]
    return {"info": {"year": 2026}, "annotations": annotations, "images": images, "categories": categories}


def of(given: Sequence[Scene], split: str) -> list[Scene]:
    return [scene for scene in given if scene.split == split]


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def polygons(_: Scene, item: Drawn) -> Any:
    return [item.flat]


def run_lengths(scene: Scene, item: Drawn) -> Any:
    return {"size": [scene.height, scene.width], "counts": runs_down(scene, item)}


def coco(folder: Path, given: Sequence[Scene], segmentation: Any = polygons) -> None:
    """As on cocodataset.org."""
    for split, short in (("train", "train2017"), ("validation", "val2017")):
        for scene in of(given, split):
            scene.save(folder / short)
        write_json(folder / "annotations" / f"instances_{short}.json", coco_json(of(given, split), segmentation))


def coco_run_lengths(folder: Path, given: Sequence[Scene]) -> None:
    coco(folder, given, run_lengths)


def coco_boxes(folder: Path, given: Sequence[Scene]) -> None:
    coco(folder, given, None)


def coco_roboflow(folder: Path, given: Sequence[Scene]) -> None:
    for split, short in (("train", "train"), ("validation", "valid")):
        for scene in of(given, split):
            scene.save(folder / short)
        document = coco_json(of(given, split), polygons)
        for category in document["categories"]:
            category["supercategory"] = "pets"
        document["categories"].insert(0, {"id": 0, "name": "pets", "supercategory": "none"})
        write_json(folder / short / "_annotations.coco.json", document)


def voc(folder: Path, given: Sequence[Scene], masks: bool = True) -> None:
    """As in VOC2012, with masks for each object."""
    (folder / "Annotations").mkdir(parents=True)
    (folder / "ImageSets/Main").mkdir(parents=True)
    for scene in given:
        scene.save(folder / "JPEGImages")
        (folder / "Annotations" / f"{scene.stem}.xml").write_text(voc_xml(scene), encoding="utf-8")
        if masks and scene.objects:
            colours = np.zeros((scene.height, scene.width), np.uint8)
            for number, item in enumerate(scene.objects, start=1):
                colours[pixels_inside(scene, item)] = number
            image = Image.fromarray(colours, "L").convert("P")
            (folder / "SegmentationObject").mkdir(exist_ok=True)
            image.save(folder / "SegmentationObject" / f"{scene.stem}.png")
    for split, short in (("train", "train"), ("validation", "val")):
        names = "\n".join(scene.stem for scene in of(given, split))
        (folder / "ImageSets/Main" / f"{short}.txt").write_text(names + "\n")


def voc_boxes(folder: Path, given: Sequence[Scene]) -> None:
    voc(folder, given, masks=False)


def voc_beside(folder: Path, given: Sequence[Scene]) -> None:
    """As Roboflow writes it: the XML beside the picture, with polygons."""
    for scene in given:
        place = folder / ("train" if scene.split == "train" else "valid")
        scene.save(place)
        (place / f"{scene.stem}.xml").write_text(voc_xml(scene, polygon=True), encoding="utf-8")


def voc_xml(scene: Scene, polygon: bool = False) -> str:
    objects = ""
    for item in scene.objects:
        left, top, right, bottom = item.box
        ring = "".join(f"<x{n}>{x}</x{n}><y{n}>{y}</y{n}>" for n, (x, y) in enumerate(item.points, start=1))
        objects += (
            f"<object><name>{escape(item.label)}</name><difficult>0</difficult>"
            f"<bndbox><xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox>"
            f"{f'<polygon>{ring}</polygon>' if polygon else ''}</object>\n"
        )
    size = f"<size><width>{scene.width}</width><height>{scene.height}</height><depth>3</depth></size>"
    return f"<annotation><filename>{scene.name}</filename>{size}{objects}</annotation>\n"


def yolo_lines(scene: Scene, segments: bool) -> str:
    lines = []
    for item in scene.objects:
        left, top, right, bottom = item.box
        if segments:
            values = [side / (scene.height if n % 2 else scene.width) for n, side in enumerate(item.flat)]
        else:
            values = [(left + right) / 2 / scene.width, (top + bottom) / 2 / scene.height]
            values += [(right - left) / scene.width, (bottom - top) / scene.height]
        lines.append(" ".join([str(CLASSES.index(item.label)), *(f"{value:.6f}" for value in values)]))
    return "".join(f"{line}\n" for line in lines)


def yolo(folder: Path, given: Sequence[Scene], segments: bool = True) -> None:
    """As Ultralytics has it: images/train beside labels/train, and data.yaml."""
    for scene in given:
        short = "train" if scene.split == "train" else "val"
        scene.save(folder / "images" / short)
        (folder / "labels" / short).mkdir(parents=True, exist_ok=True)
        if scene.objects:
            (folder / "labels" / short / f"{scene.stem}.txt").write_text(yolo_lines(scene, segments))
    names = "".join(f"  {number}: {name}\n" for number, name in enumerate(CLASSES))
    (folder / "data.yaml").write_text(f"path: ../datasets/x\ntrain: images/train\nval: images/val\nnames:\n{names}")


def yolo_boxes(folder: Path, given: Sequence[Scene]) -> None:
    yolo(folder, given, segments=False)


def yolo_roboflow(folder: Path, given: Sequence[Scene]) -> None:
    for scene in given:
        short = "train" if scene.split == "train" else "valid"
        scene.save(folder / short / "images")
        (folder / short / "labels").mkdir(parents=True, exist_ok=True)
        (folder / short / "labels" / f"{scene.stem}.txt").write_text(yolo_lines(scene, segments=True))
    names = json.dumps(list(CLASSES), ensure_ascii=False)
    (folder / "data.yaml").write_text(f"train: ../train/images\nval: ../valid/images\nnc: 3\nnames: {names}\n")


def yolo_darknet(folder: Path, given: Sequence[Scene]) -> None:
    """As CVAT's export YOLO 1.1 has it: labels beside pictures, lists of paths. The old format has boxes only."""
    for scene in given:
        place = f"obj_{'train' if scene.split == 'train' else 'validation'}_data"
        scene.save(folder / place)
        (folder / place / f"{scene.stem}.txt").write_text(yolo_lines(scene, segments=False))
    (folder / "obj.names").write_text("".join(f"{name}\n" for name in CLASSES), encoding="utf-8")
    for split, short in (("train", "train"), ("validation", "valid")):
        place = f"data/obj_{split}_data"
        (folder / f"{short}.txt").write_text("".join(f"{place}/{scene.name}\n" for scene in of(given, split)))


def cvat(folder: Path, given: Sequence[Scene], segments: bool = True) -> None:
    """As CVAT for images 1.1 has it."""
    labels = "".join(f"<label><name>{escape(name)}</name></label>" for name in CLASSES)
    images = ""
    for number, scene in enumerate(given):
        subset = "Train" if scene.split == "train" else "Validation"
        scene.save(folder / "images" / subset)
        shapes = "".join(cvat_shape(item, segments) for item in scene.objects)
        head = f'id="{number}" name="{scene.name}" subset="{subset}" width="{scene.width}" height="{scene.height}"'
        images += f"<image {head}>{shapes}</image>\n"
    meta = f"<version>1.1</version><meta><project><labels>{labels}</labels></project></meta>"
    (folder / "annotations.xml").write_text(f"<annotations>{meta}{images}</annotations>", encoding="utf-8")


def cvat_shape(item: Drawn, segments: bool) -> str:
    if segments:
        points = ";".join(f"{x:.2f},{y:.2f}" for x, y in item.points)
        return f'<polygon label="{item.label}" points="{points}" z_order="0"/>'
    left, top, right, bottom = item.box
    return f'<box label="{item.label}" xtl="{left}.0" ytl="{top}.0" xbr="{right}.0" ybr="{bottom}.0"/>'


def cvat_boxes(folder: Path, given: Sequence[Scene]) -> None:
    cvat(folder, given, segments=False)


WITH_MASKS: dict[str, Writer] = {
    "COCO": coco,
    "COCO, run lengths": coco_run_lengths,
    "COCO, Roboflow": coco_roboflow,
    "VOC": voc,
    "VOC, Roboflow": voc_beside,
    "YOLO": yolo,
    "YOLO, Roboflow": yolo_roboflow,
    "CVAT": cvat,
}
WITH_BOXES: dict[str, Writer] = {
    "COCO": coco_boxes,
    "VOC": voc_boxes,
    "YOLO": yolo_boxes,
    "YOLO, darknet": yolo_darknet,
    "CVAT": cvat_boxes,
}
