"""Import of people's own data: images/s and memory, ours and the Object Detection API's own conversion.

    python -m benchmarks.import                           # about 10 minutes on two cores
    python -m benchmarks.import --images 300 --repeats 1 --growth 1000

Two tables. The first: the same files, both ways, in turn (theirs, ours, ours, theirs, …).
  theirs  `create_tf_example` and `dict_to_tf_example` of the Object Detection API's scripts, as those scripts call
          them: one process, no checks. They have no script for YOLO: its labels are read line by line, and
          `create_tf_example` makes the records. The import of TensorFlow is not counted.
  ours    `import_folder`: all cores, every picture and object checked, statistics and hashes, files flushed to disk.
          The start of its processes is counted.
The second: our peak memory as the number of images grows, of all processes together (PSS).

The pictures are JPEG files like small photographs, landscape and portrait, 640 by 480 in the first table and 160 by 120
in the second, each with its own bytes and seven objects.
"""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets.import_folder import Division, import_folder

FORMATS = ("COCO with masks", "VOC", "YOLO")
GOAL = 3.0  # images/s, ours / theirs, at least
CLASSES = [f"class {number}" for number in range(1, 21)]
OBJECTS = 7  # of a picture; COCO has 7.3 on average
CORNERS = 24  # of an outline
DRAWINGS = 16  # different pictures; each file gets a comment of its own
VALIDATION = 0.1
YEAR = "VOC2012"
SAMPLE_S = 0.1


@dataclass(frozen=True)
class Thing:
    label: int  # from 1
    outline: list[float]  # x, y, …

    @property
    def box(self) -> tuple[float, float, float, float]:
        """x, y, right, bottom."""
        return min(self.outline[::2]), min(self.outline[1::2]), max(self.outline[::2]), max(self.outline[1::2])


@dataclass(frozen=True)
class Picture:
    name: str
    width: int
    height: int
    things: list[Thing]


@dataclass(frozen=True)
class Run:
    images_per_s: float
    peak_mb: float


def main() -> int:
    options = _options()
    if options.child:
        print(json.dumps(_convert(*options.child)))
        return 0
    with tempfile.TemporaryDirectory(prefix="import-", dir=options.folder) as folder:
        place = Path(folder)
        pictures = _pictures(options.images, (640, 480))
        print(f"{len(os.sched_getaffinity(0))} core(s), load {os.getloadavg()[0]:.1f}; {options.images} images", end="")
        print(f" of 640 by 480, {options.repeats} runs each way; the median")
        print(f"{'':16} {'theirs':>18} {'ours':>18} {'ours / theirs':>14} {'goal':>6}")
        print(f"{'':16} {'images/s (MB)':>18} {'images/s (MB)':>18}", flush=True)
        missed = 0
        for format in FORMATS:
            missed += not _compare(place, format, pictures, options.repeats)
        print(f"\nimages (160 by 120)  {'':4}" + "".join(f"{format:>24}" for format in FORMATS))
        for count in options.growth:
            cells = [_grown(place, format, count) for format in FORMATS]
            print(f"{count:>25,}" + "".join(f"{cell:>24}" for cell in cells), flush=True)
    return 1 if missed else 0


def _compare(place: Path, format: str, pictures: Sequence[Picture], repeats: int) -> bool:
    runs: dict[str, list[Run]] = {"theirs": [], "ours": []}
    with _written(place, format, pictures) as source:
        for number in range(repeats):
            for way in ("theirs", "ours") if number % 2 == 0 else ("ours", "theirs"):
                runs[way].append(_run(way, format, source, len(pictures)))
    theirs, ours = (statistics.median(run.images_per_s for run in runs[way]) for way in ("theirs", "ours"))
    cells = [
        f"{rate:.0f} ({max(run.peak_mb for run in runs[way]):.0f})"
        for rate, way in ((theirs, "theirs"), (ours, "ours"))
    ]
    print(f"{format:16} {cells[0]:>18} {cells[1]:>18} {ours / theirs:>14.2f} {GOAL:>6g}", flush=True)
    return ours / theirs >= GOAL


def _grown(place: Path, format: str, count: int) -> str:
    with _written(place, format, _pictures(count, (160, 120))) as source:
        run = _run("ours", format, source, count)
    return f"{run.peak_mb:.0f} MB ({run.images_per_s:.0f}/s)"


def _run(way: str, format: str, source: Path, count: int) -> Run:
    """In a process of its own; its peak memory includes its children's."""
    target = source.parent / "converted"
    command = [sys.executable, str(Path(__file__).resolve()), "--child", way, format, str(source), str(target)]
    peak = 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, _memory_mb(process.pid))
            time.sleep(SAMPLE_S)
        assert process.stdout and process.stderr
        output, errors = process.stdout.read(), process.stderr.read()
    if process.returncode:
        raise SystemExit(f"{way}, {format}: {errors[-2000:]}")
    made = json.loads(output.splitlines()[-1])
    if made["images"] != count:
        raise SystemExit(f"{way}, {format}: {made['images']} of {count} images were converted")
    shutil.rmtree(target)
    return Run(count / made["seconds"], peak)


def _memory_mb(pid: int) -> float:
    """Of a process and its descendants. What they share counts once."""
    total = 0
    with contextlib.suppress(OSError):  # it ended
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(_memory_mb(int(child)) * 1024 for child in (task / "children").read_text().split())
    return total / 1024


def _convert(way: str, format: str, source: str, target: str) -> dict[str, float]:
    root, to = Path(source), Path(target)
    to.mkdir()
    if way == "ours":
        began = time.monotonic()
        added = import_folder(to, "set", root, division=Division(VALIDATION))
        images = added.dataset.records + added.dataset.validation_records
        return {"images": images, "seconds": time.monotonic() - began}
    return _convert_as_they_do(format, root, to / "records")


def _convert_as_they_do(format: str, root: Path, target: Path) -> dict[str, float]:
    from worker.trainer import compat

    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1")
    compat.install()
    import tensorflow as tf

    convert = {"VOC": _voc_as_they_do, "YOLO": _yolo_as_they_do}.get(format, _coco_as_they_do)
    examples = convert(root)
    next(examples)  # imports
    images, began = 0, time.monotonic()
    with tf.io.TFRecordWriter(str(target)) as writer:
        for example in examples:
            writer.write(example.SerializeToString())
            images += 1
    return {"images": images, "seconds": time.monotonic() - began}


def _coco_as_they_do(root: Path) -> Iterator[Any]:
    from object_detection.dataset_tools.create_coco_tf_record import create_tf_example

    yield None
    document = json.loads((root / "annotations.json").read_text())
    categories = {category["id"]: category for category in document["categories"]}
    annotations: dict[int, list[Any]] = {image["id"]: [] for image in document["images"]}
    for annotation in document["annotations"]:
        annotations[annotation["image_id"]].append(annotation)
    for image in document["images"]:
        given = annotations[image["id"]]
        yield create_tf_example(image, given, str(root / "images"), categories, include_masks=True)[1]


def _voc_as_they_do(root: Path) -> Iterator[Any]:
    from lxml import etree
    from object_detection.dataset_tools.create_pascal_tf_record import dict_to_tf_example
    from object_detection.utils import dataset_util

    yield None
    ids = {name: number for number, name in enumerate(CLASSES, start=1)}
    for split in ("train", "val"):
        for stem in (root / YEAR / f"ImageSets/Main/{split}.txt").read_text().split():
            document = etree.fromstring((root / YEAR / "Annotations" / f"{stem}.xml").read_text())
            data = dataset_util.recursive_parse_xml_to_dict(document)["annotation"]
            yield dict_to_tf_example(data, str(root), ids)


def _yolo_as_they_do(root: Path) -> Iterator[Any]:
    from object_detection.dataset_tools.create_coco_tf_record import create_tf_example

    yield None
    categories = {number: {"id": number, "name": name} for number, name in enumerate(CLASSES)}
    for number, path in enumerate(sorted((root / "images").iterdir())):
        with Image.open(path) as opened:
            width, height = opened.size
        image = {"id": number, "file_name": path.name, "width": width, "height": height}
        annotations = []
        for line in (root / "labels" / f"{path.stem}.txt").read_text().splitlines():
            label, x, y, across, down = map(float, line.split())
            box = [(x - across / 2) * width, (y - down / 2) * height, across * width, down * height]
            area = box[2] * box[3]
            annotations.append({"bbox": box, "category_id": int(label), "iscrowd": 0, "area": area})
        yield create_tf_example(image, annotations, str(root / "images"), categories)[1]


def _pictures(count: int, size: tuple[int, int]) -> list[Picture]:
    """Every second one is portrait."""
    made = random.Random(0)
    found = []
    for number in range(count):
        width, height = size if number % 2 == 0 else size[::-1]
        found.append(Picture(f"{number:06d}.jpg", width, height, [_thing(made, width, height) for _ in range(OBJECTS)]))
    return found


def _thing(made: random.Random, width: int, height: int) -> Thing:
    radius = min(width, height) * made.uniform(0.05, 0.25)
    x, y = made.uniform(radius, width - radius), made.uniform(radius, height - radius)
    outline = []
    for corner in range(CORNERS):
        far = radius * made.uniform(0.7, 0.99)
        angle = 2 * np.pi * corner / CORNERS
        outline += [round(x + far * float(np.cos(angle)), 2), round(y + far * float(np.sin(angle)), 2)]
    return Thing(made.randint(1, len(CLASSES)), outline)


@contextlib.contextmanager
def _written(place: Path, format: str, pictures: Sequence[Picture]) -> Iterator[Path]:
    root = place / "source"
    {"VOC": _write_voc, "YOLO": _write_yolo}.get(format, _write_coco)(root, pictures)
    try:
        yield root
    finally:
        shutil.rmtree(root)


def _save(folder: Path, pictures: Sequence[Picture]) -> None:
    folder.mkdir(parents=True)
    drawings: dict[tuple[int, int, int], bytes] = {}
    for number, picture in enumerate(pictures):
        key = picture.width, picture.height, number // 2 % DRAWINGS
        encoded = drawings.get(key) or drawings.setdefault(key, _drawing(*key))
        comment = b"\xff\xfe" + (2 + len(picture.name)).to_bytes(2, "big") + picture.name.encode()
        (folder / picture.name).write_bytes(encoded[:2] + comment + encoded[2:])


def _drawing(width: int, height: int, seed: int) -> bytes:
    coarse = np.random.default_rng(seed).integers(0, 255, (height // 8, width // 8, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    return file.getvalue()


def _write_coco(root: Path, pictures: Sequence[Picture]) -> None:
    _save(root / "images", pictures)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, picture in enumerate(pictures):
        images.append({"id": number, "file_name": picture.name, "width": picture.width, "height": picture.height})
        for thing in picture.things:
            left, top, right, bottom = thing.box
            annotation = {"id": len(annotations), "image_id": number, "category_id": thing.label, "iscrowd": 0}
            shape = {"segmentation": [thing.outline], "bbox": [left, top, right - left, bottom - top]}
            annotations.append({**annotation, **shape, "area": (right - left) * (bottom - top)})
    categories = [{"id": number, "name": name} for number, name in enumerate(CLASSES, start=1)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (root / "annotations.json").write_text(json.dumps(document))


def _write_voc(root: Path, pictures: Sequence[Picture]) -> None:
    _save(root / YEAR / "JPEGImages", pictures)
    (root / YEAR / "Annotations").mkdir()
    (root / YEAR / "ImageSets/Main").mkdir(parents=True)
    for picture in pictures:
        size = f"<width>{picture.width}</width><height>{picture.height}</height><depth>3</depth>"
        objects = ""
        for thing in picture.things:
            sides = zip(("xmin", "ymin", "xmax", "ymax"), thing.box, strict=True)
            box = "".join(f"<{name}>{value}</{name}>" for name, value in sides)
            about = "<pose>Unspecified</pose><truncated>0</truncated><difficult>0</difficult>"
            objects += f"<object><name>{CLASSES[thing.label - 1]}</name>{about}<bndbox>{box}</bndbox></object>"
        head = f"<folder>{YEAR}</folder><filename>{picture.name}</filename><size>{size}</size>"
        text = f"<annotation>{head}{objects}</annotation>"
        (root / YEAR / "Annotations" / f"{picture.name[:-4]}.xml").write_text(text)
    held_back = round(len(pictures) * VALIDATION)
    for split, part in (("train", pictures[held_back:]), ("val", pictures[:held_back])):
        (root / YEAR / f"ImageSets/Main/{split}.txt").write_text("".join(f"{picture.name[:-4]}\n" for picture in part))


def _write_yolo(root: Path, pictures: Sequence[Picture]) -> None:
    _save(root / "images", pictures)
    (root / "labels").mkdir()
    for picture in pictures:
        lines = ""
        for thing in picture.things:
            left, top, right, bottom = thing.box
            middle = (left + right) / 2 / picture.width, (top + bottom) / 2 / picture.height
            values = (*middle, (right - left) / picture.width, (bottom - top) / picture.height)
            lines += f"{thing.label - 1} {' '.join(f'{value:.6f}' for value in values)}\n"
        (root / "labels" / f"{picture.name[:-4]}.txt").write_text(lines)
    (root / "classes.txt").write_text("".join(f"{name}\n" for name in CLASSES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2000, help="of the comparison")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--growth", type=int, nargs="*", default=[1000, 10_000, 50_000], help="of the second table")
    parser.add_argument("--folder", type=Path, help="for the files; default: the system's temporary folder")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
