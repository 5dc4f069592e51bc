"""Generate the sample dataset `shapes`: images with boxes and masks, in the Object Detection API's format.

    python -m services.datasets.shapes OUT [--train N] [--validation N] [--size S | HxW[,HxW…]] [--seed K]

The same arguments give byte-identical files. Image i of a split depends only on the seed, the sizes and i, so a larger
dataset with the same seed begins with the images of the smaller one.
"""

import argparse
import hashlib
import io
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from services.datasets import examples, record_index
from services.datasets.annotations import Annotated
from services.datasets.dataset import LABEL_MAP_FILE, Dataset, read_manifest, write_manifest
from services.datasets.record_index import FileIndex
from services.datasets.scenes import CLASSES, Scene, draw_scene
from services.datasets.statistics import Statistics
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError
from services.working_folder import working_folder

__all__ = ["generate", "main"]

MIN_SIDE, MAX_SIDE = 64, 4096
_GENERATOR = "downshift-shapes"
_SHARDS = {"train": 4, "validation": 2}  # at most; parallel readers need more than one file
_SPLIT_STREAMS = {"train": 0, "validation": 1}
_JPEG_QUALITY = 92

Progress = Callable[[str, int, int], None]  # split, images done, all images


def generate(
    folder: Path,
    *,
    train: int = 200,
    validation: int = 40,
    size: int | tuple[int, int] | list[tuple[int, int]] = 256,
    seed: int = 0,
    progress: Progress | None = None,
) -> Dataset:
    """Create the dataset in `folder`, completely or not at all.

    `size`: the side, or (height, width), or several of these that the images take in turn. Replaces a dataset that this
    function made. Raises DatasetError for any other existing folder.
    """
    if isinstance(size, int):
        size = (size, size)
    sizes = [size] if isinstance(size, tuple) else size
    _check_request(train, validation, sizes, seed)
    _refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with working_folder(folder.parent, folder.name) as temporary:
        building = temporary / "new"
        building.mkdir()
        statistics = {split: Statistics() for split in _SHARDS}
        splits = {
            split: _write_split(building, split, count, sizes, seed, statistics[split], progress)
            for split, count in (("train", train), ("validation", validation))
        }
        (building / LABEL_MAP_FILE).write_text(_label_map(), encoding="utf-8")
        write_manifest(
            building,
            generator=_GENERATOR,
            classes=CLASSES,
            splits=splits,
            seed=seed,
            image_size=_described(sizes[0]) if len(sizes) == 1 else [_described(one) for one in sizes],
            has_masks=True,
            findings=[],
            statistics={split: found.as_json() for split, found in statistics.items()},
        )
        _move_into_place(building, folder, temporary / "old")
    return Dataset.load(folder)


def _described(size: tuple[int, int]) -> dict[str, int]:
    return {"height": size[0], "width": size[1]}


def _check_request(train: int, validation: int, sizes: list[tuple[int, int]], seed: int) -> None:
    for name, count in (("train", train), ("validation", validation)):
        if count < 1:
            raise DatasetError("dataset_refused", f"{name}: at least 1 image, got {count}")
    for name, side in (item for size in sizes for item in _described(size).items()):
        if not MIN_SIDE <= side <= MAX_SIDE:
            raise DatasetError("dataset_refused", f"{name}: {MIN_SIDE} to {MAX_SIDE} pixels, got {side}")
    if seed < 0:
        raise DatasetError("dataset_refused", f"seed: must not be negative, got {seed}")


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir() or (any(folder.iterdir()) and not _is_ours(folder)):
        raise DatasetError("dataset_refused", f"{folder}: exists and is not a shapes dataset; not overwritten")


def _is_ours(folder: Path) -> bool:
    """Did any version of `generate` create it?"""
    try:
        return read_manifest(folder).get("generator") == _GENERATOR
    except DatasetError:
        return False


def _move_into_place(building: Path, folder: Path, aside: Path) -> None:
    building.chmod(0o755)
    if folder.exists():
        _refuse_foreign(folder)  # it may have changed meanwhile
        os.rename(folder, aside)
    try:
        os.rename(building, folder)
    except OSError:
        if aside.exists() and not folder.exists():
            os.rename(aside, folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _write_split(
    folder: Path,
    split: str,
    count: int,
    sizes: list[tuple[int, int]],
    seed: int,
    statistics: Statistics,
    progress: Progress | None,
) -> dict[str, Any]:
    """Write one split's shards and its index, and return its part of the manifest."""
    shards = min(count, _SHARDS[split])
    objects: Counter[str] = Counter()
    done = most_objects = 0
    indexes = [FileIndex() for _ in range(shards)]

    def payloads(shard: int) -> Iterator[bytes]:
        nonlocal done, most_objects
        for index in range(shard, count, shards):
            scene = draw_scene(np.random.default_rng([seed, _SPLIT_STREAMS[split], index]), *sizes[index % len(sizes)])
            objects.update(item.name for item in scene.objects)
            most_objects = max(most_objects, len(scene.objects))
            payload = _example(scene, f"{split}-{index:06d}")
            statistics.add(found := _annotated(scene))
            indexes[shard].add(tfrecord.framed(len(payload)), found)
            yield payload
            done += 1
            if progress:
                progress(split, done, count)

    names = [f"{split}-{shard:05d}-of-{shards:05d}.tfrecord" for shard in range(shards)]
    written = [tfrecord.write(folder / name, payloads(shard)) for shard, name in enumerate(names)]
    record_index.write(folder, split, indexes)
    return {
        "images": count,
        "objects": objects.total(),
        "most_objects": most_objects,
        "objects_per_class": {name: objects[name] for name in CLASSES},
        "files": names,
        "bytes": sum(file.bytes for file in written),
    }


def _annotated(scene: Scene) -> Annotated:
    height, width, _ = scene.image.shape
    boxes = [
        (ymin / height, xmin / width, ymax / height, xmax / width)
        for ymin, xmin, ymax, xmax in (item.box for item in scene.objects)
    ]
    classes = [item.label for item in scene.objects]
    return Annotated(size=(height, width), objects=len(boxes), boxes=boxes, classes=classes)


def _example(scene: Scene, source_id: str) -> bytes:
    height, width, _ = scene.image.shape
    jpeg = _encode_image(scene.image, "JPEG", quality=_JPEG_QUALITY, subsampling=0)
    boxes = [item.box for item in scene.objects]
    return examples.encode(
        byte_lists={
            "image/encoded": [jpeg],
            "image/format": [b"jpeg"],
            "image/filename": [f"{source_id}.jpg".encode()],
            "image/source_id": [source_id.encode()],
            "image/key/sha256": [hashlib.sha256(jpeg).hexdigest().encode()],
            "image/object/class/text": [item.name.encode() for item in scene.objects],
            "image/object/mask": [_encode_image(item.mask.astype(np.uint8), "PNG") for item in scene.objects],
        },
        floats={
            "image/object/bbox/ymin": [box[0] / height for box in boxes],
            "image/object/bbox/xmin": [box[1] / width for box in boxes],
            "image/object/bbox/ymax": [box[2] / height for box in boxes],
            "image/object/bbox/xmax": [box[3] / width for box in boxes],
            "image/object/area": [float(np.count_nonzero(item.mask)) for item in scene.objects],
        },
        ints={
            "image/height": [height],
            "image/width": [width],
            "image/object/class/label": [item.label for item in scene.objects],
            "image/object/is_crowd": [0 for _ in scene.objects],
        },
    )


def _encode_image(pixels: "np.typing.NDArray[np.uint8]", kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def _label_map() -> str:
    return "".join(f"item {{\n  id: {label}\n  name: '{name}'\n}}\n" for label, name in enumerate(CLASSES, start=1))


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        dataset = generate(
            options.folder,
            train=options.train,
            validation=options.validation,
            size=options.size,
            seed=options.seed,
            progress=_print_progress,
        )
    except (DatasetError, OSError) as error:
        print(f"shapes: {error}", file=sys.stderr)
        return 1
    print(
        f"{dataset.folder}: {dataset.records} training and {dataset.validation_records} validation images, "
        f"{dataset.num_classes} classes"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.datasets.shapes", description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, metavar="OUT", help="folder to make; replaced if it is a shapes dataset")
    parser.add_argument("--train", type=int, default=200, metavar="N", help="training images (default %(default)s)")
    parser.add_argument("--validation", type=int, default=40, metavar="N", help="validation images (%(default)s)")
    parser.add_argument(
        "--size",
        type=_sizes,
        default=256,
        metavar="S|HxW[,HxW…]",
        help="pixels, or several in turn (default %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="default %(default)s")
    return parser


def _sizes(text: str) -> list[tuple[int, int]]:
    sides = [one.partition("x") for one in text.split(",")]
    try:
        return [(int(height), int(width or height)) for height, _, width in sides]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"want a side in pixels, HEIGHTxWIDTH, or several of these separated by commas; got {text!r}"
        ) from None


def _print_progress(split: str, done: int, count: int) -> None:
    if done == count or done % max(1, count // 10) == 0:
        print(f"{split}: {done}/{count}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
