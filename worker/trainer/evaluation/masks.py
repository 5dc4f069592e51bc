"""Instance masks in pixels of the original image, handled one at a time and compressed.

The OD API would hold all masks of an image at full size on the device: 5 GB for 100 detections in a 12-megapixel image.
It also resizes true masks to the network's image size and back, which shifts their edges.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from pycocotools import mask as rle

_STRIP = 64  # rows pasted at a time: a whole mask of 12 megapixels would need 276 MB
Box = Sequence[float]  # ymin, xmin, ymax, xmax, as fractions of the image's height and width


def of_record(features: Mapping[str, Any], class_ids: Mapping[str, int]) -> Iterator[tuple[int, Any, bool]]:
    """Yield class, mask and crowd flag of each object in a record of the dataset."""
    # As in the OD API: names are looked up in the label map; numbers count only where there are no names.
    names = [name.decode(errors="replace") for name in features["image/object/class/text"].bytes_list.value]
    classes = [class_ids.get(name, 0) for name in names] or features["image/object/class/label"].int64_list.value
    crowds = [*features["image/object/is_crowd"].int64_list.value]
    for number, png in enumerate(features["image/object/mask"].bytes_list.value):
        if number < len(classes) and classes[number] > 0:
            is_crowd = number < len(crowds) and bool(crowds[number])
            yield int(classes[number]), decode(png), is_crowd


def decode(png: bytes) -> Any:
    """Decode with TensorFlow, as training does: Pillow converts colours and 16-bit values differently."""
    return tf.io.decode_png(png, channels=1).numpy()[:, :, 0] > 0


def paste(mask: Any, box: Box, height: int, width: int) -> tuple[Any, int, int]:
    """The mask in image pixels, cropped to `box`, and the top and left of the crop. Placed as by the OD API."""
    top, rows = _samples(box[0], box[2], height, mask.shape[0])
    left, columns = _samples(box[1], box[3], width, mask.shape[1])
    part = np.empty((len(rows), len(columns)), bool)
    for start in range(0, len(rows), _STRIP):
        strip = slice(start, start + _STRIP)
        part[strip] = _between(_between(mask, rows[strip]).T, columns).T > 0.5
    return part, top, left


def _samples(start: float, end: float, pixels: int, cells: int) -> tuple[int, Any]:
    """The first image pixel within start … end, and the position in mask cells of each pixel within."""
    if end <= start:
        return 0, np.empty(0)
    places = np.linspace(0, 1, pixels) if pixels > 1 else np.array([0.5])
    cell = (places - start) / (end - start) * (cells - 1)
    inside = np.flatnonzero((cell >= 0) & (cell <= cells - 1))
    return (int(inside[0]), cell[inside]) if inside.size else (0, np.empty(0))


def _between(values: Any, places: Any) -> Any:
    """The rows of `values`, interpolated at `places`."""
    below = np.floor(places).astype(int)
    above = np.minimum(below + 1, len(values) - 1)
    share = (places - below)[:, None]
    return values[below] * (1 - share) + values[above] * share


def compress(part: Any, top: int, left: int, height: int, width: int) -> Any:
    """The run-length encoding of an image that is empty outside `part`, without creating the whole image."""
    rows, columns = part.shape
    framed = np.zeros((rows + 2, columns), np.int8)
    framed[1:-1] = part
    changes = np.diff(framed, axis=0).T  # per column: 1 where a run starts, -1 after its end
    column, row = np.nonzero(changes)
    places = (left + column) * height + top + row
    if places.size:  # join runs that continue at the top of the next column
        joins = np.flatnonzero(places[1:-1:2] == places[2::2])
        places = np.delete(places, np.concatenate([2 * joins + 1, 2 * joins + 2]))
    ends = places if places.size and places[-1] == height * width else np.append(places, height * width)
    counts = np.diff(ends, prepend=0)
    return rle.frPyObjects({"size": [height, width], "counts": counts.tolist()}, height, width)
