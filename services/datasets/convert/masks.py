"""Turn outlines into masks: one value for each pixel of the picture."""

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from services.datasets.formats.picture import Box, MaskPicture, Polygons, Rle

__all__ = ["Mask", "box_of", "encode", "mask_of", "read_instances"]

Mask = NDArray[np.bool_]

_LEAST_OVERLAP = 0.5  # of a box and a mask that belong together


def mask_of(outline: Polygons | Rle, height: int, width: int) -> Mask:
    """Raises ValueError if it does not fit a picture of this size."""
    if isinstance(outline, Polygons):
        mask = np.zeros((height, width), np.bool_)
        for ring in outline.rings:
            _fill(mask, ring)
        return mask
    if (outline.height, outline.width) != (height, width):
        raise ValueError(f"is for {outline.width}x{outline.height} pixels, the picture has {width}x{height}")
    return _decode(outline)


def _fill(mask: Mask, ring: Sequence[float]) -> None:
    """Set the pixels whose centres are inside, by the even-odd rule.

    Each edge toggles the pixels right of where it crosses a row's middle; what is toggled an odd number of times is
    inside.
    """
    if len(ring) < 6 or len(ring) % 2:
        raise ValueError(f"a polygon has {len(ring)} numbers; write the x y of at least three points")
    points = np.asarray(ring, np.float64).reshape(-1, 2)
    (left, top), (right, bottom) = np.floor(points.min(0)).astype(int), np.ceil(points.max(0)).astype(int)
    height, width = mask.shape
    top, bottom, left, right = max(top, 0), min(bottom, height), max(left, 0), min(right, width)
    if top >= bottom or left >= right:
        return
    x, y = points.T
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    middles = np.arange(top, bottom)[:, None] + 0.5
    rows, edges = np.nonzero((y <= middles) != (next_y <= middles))
    slope = (next_x[edges] - x[edges]) / (next_y[edges] - y[edges])
    crossings = x[edges] + (middles[rows, 0] - y[edges]) * slope
    columns = np.clip(np.ceil(crossings - 0.5).astype(int), left, right) - left
    toggles = np.zeros((bottom - top, right - left + 1), np.uint8)
    np.add.at(toggles, (rows, columns), 1)
    mask[top:bottom, left:right] |= (np.cumsum(toggles[:, :-1], axis=1, dtype=np.uint8) & 1).astype(np.bool_)


def _decode(outline: Rle) -> Mask:
    counts = _uncompressed(outline.counts) if isinstance(outline.counts, str) else outline.counts
    top, left, height, width = outline.part or (0, 0, outline.height, outline.width)
    if (
        min(counts, default=0) < 0
        or sum(counts) > height * width
        or (not outline.part and sum(counts) != height * width)
    ):
        raise ValueError(f"its runs cover {sum(counts)} pixels, not {height * width}")
    values = np.arange(len(counts), dtype=np.uint8) & 1
    pixels = np.zeros(height * width, np.bool_)
    pixels[: sum(counts)] = np.repeat(values, counts)
    if not outline.part:
        return np.ascontiguousarray(pixels.reshape(width, height).T)
    if min(top, left) < 0 or top + height > outline.height or left + width > outline.width:
        raise ValueError("extends beyond the picture")
    mask = np.zeros((outline.height, outline.width), np.bool_)
    mask[top : top + height, left : left + width] = pixels.reshape(height, width)
    return mask


def _uncompressed(text: str) -> list[int]:
    """COCO's text: five bits a character, the sixth says that more follow; from the third on, differences to the run
    before the last."""
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 30:
            raise ValueError("counts are not COCO's compressed run lengths")
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            if bits & 16:
                value -= 1 << shift
            counts.append(value + (counts[-2] if len(counts) > 2 else 0))
            value = shift = 0
    if shift:
        raise ValueError("counts end within a number")
    return counts


def box_of(mask: Mask) -> Box | None:
    """None for a mask without a pixel."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not rows.size:
        return None
    return float(rows[0]), float(columns[0]), float(rows[-1] + 1), float(columns[-1] + 1)


def read_instances(picture: MaskPicture, boxes: Sequence[Box], height: int, width: int) -> list[Mask]:
    """The mask of each box: the colour whose own box overlaps it most. Raises ValueError."""
    with Image.open(picture.path, formats=("PNG",)) as image:
        if (image.height, image.width) != (height, width):
            raise ValueError(f"is {image.width}x{image.height} pixels, the picture {width}x{height}")
        pixels = np.asarray(image if image.mode in ("L", "P") else image.convert("RGB"))
    if pixels.ndim == 3:
        pixels = (pixels.astype(np.uint32) << np.array([16, 8, 0], np.uint32)).sum(2)
    masks = [pixels == colour for colour in np.unique(pixels) if colour not in (0, 255, 0xE0E0C0)]  # a VOC outline
    own = [box_of(mask) for mask in masks]
    found = []
    for number, box in enumerate(boxes, start=1):
        overlaps = [_overlap(box, other) if other else 0.0 for other in own]
        best = max(range(len(masks)), key=overlaps.__getitem__, default=None)
        if best is None or overlaps[best] < _LEAST_OVERLAP:
            raise ValueError(f"has no colour where object {number} is")
        found.append(masks[best])
    return found


def _overlap(one: Box, other: Box) -> float:
    height = min(one[2], other[2]) - max(one[0], other[0])
    width = min(one[3], other[3]) - max(one[1], other[1])
    if height <= 0 or width <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return height * width / (sum(areas) - height * width)


def encode(mask: Mask) -> bytes:
    """A PNG with one bit for each pixel, which TensorFlow reads as 0 and 255.

    Pillow tries every filter on every row: 60 to 90 times as long, which was most of an import's time.
    """
    height, width = mask.shape
    rows = np.zeros((height, 1 + (width + 7) // 8), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = np.packbits(mask, axis=1)
    header = struct.pack(">2I5B", width, height, 1, 0, 0, 0, 0)  # 1 bit, grey
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(kind, content) for kind, content in parts)


def _part(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
