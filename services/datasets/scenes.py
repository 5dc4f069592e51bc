"""Draw one image of the sample dataset: shapes on a textured background, each with its box and mask.

A scene depends only on its random generator and size. Shapes are drawn from their distance function: one numpy
expression gives both the smooth edge of the image and the exact mask.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

__all__ = ["CLASSES", "MAX_OBJECTS", "MIN_VISIBLE_SIDE", "Scene", "draw_scene"]

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Colour = npt.NDArray[np.float32]

CLASSES = ("circle", "square", "triangle")
MAX_OBJECTS = 6
MIN_VISIBLE_SIDE = 0.12  # of the image's shorter side, in both directions, so that a small model can detect it
MIN_VISIBLE_PART = 0.6  # of each shape, after overlap and clipping at the image's edge
_DIAMETER = (0.2, 0.45)  # of the image's shorter side
_PLACING_TRIES = 25
_CORNERS = {"square": 4, "triangle": 3}
# At one diameter all classes have about the same area, so that size does not reveal the class.
_RADIUS = {"circle": 0.5, "square": 0.62, "triangle": 0.72}


@dataclass(frozen=True)
class SceneObject:
    """One shape. `mask`: its visible part. `box`: tight around it, as (ymin, xmin, ymax, xmax) in pixels."""

    label: int  # 1-based, as in the label map
    mask: Mask
    box: tuple[int, int, int, int]

    @property
    def name(self) -> str:
        return CLASSES[self.label - 1]


@dataclass(frozen=True)
class Scene:
    image: npt.NDArray[np.uint8]  # height x width x RGB
    objects: tuple[SceneObject, ...]


@dataclass
class _Placed:
    label: int
    coverage: Floats
    visible: Mask
    full_area: int


def draw_scene(rng: np.random.Generator, height: int, width: int) -> Scene:
    """Draw up to `MAX_OBJECTS` shapes; fewer if they would hide one another."""
    canvas = _background(rng, height, width)
    colours = [canvas.mean(axis=(0, 1))]
    placed: list[_Placed] = []
    for _ in range(int(rng.integers(1, MAX_OBJECTS + 1))):
        shape = _place(rng, placed, height, width)
        if shape is None:
            break
        colours.append(_contrasting_colour(rng, colours))
        _paint(rng, canvas, shape.coverage, colours[-1])
        for below in placed:
            below.visible &= ~shape.visible
        placed.append(shape)
    canvas += rng.normal(0, 4, canvas.shape).astype(np.float32)
    image = np.clip(np.rint(canvas), 0, 255).astype(np.uint8)
    return Scene(image, tuple(SceneObject(p.label, p.visible, _box(p.visible)) for p in placed))


def _place(rng: np.random.Generator, placed: list[_Placed], height: int, width: int) -> _Placed | None:
    """A random shape that stays recognizable and hides none below it; None if no place was found."""
    side = min(height, width)
    for _ in range(_PLACING_TRIES):
        label = int(rng.integers(1, len(CLASSES) + 1))
        name = CLASSES[label - 1]
        radius = rng.uniform(*_DIAMETER) * side * _RADIUS[name]
        margin = 0.8 * radius  # the image's edge may clip a little
        centre = (rng.uniform(margin, height - margin), rng.uniform(margin, width - margin))
        distance = _distance(name, height, width, centre, radius, rng.uniform(0, 2 * math.pi))
        coverage = np.clip(0.5 - distance, 0, 1)
        candidate = _Placed(label, coverage, coverage >= 0.5, _area(name, radius))
        if _recognizable(candidate.visible, candidate.full_area, side) and all(
            _recognizable(below.visible & ~candidate.visible, below.full_area, side) for below in placed
        ):
            return candidate
    return None


def _recognizable(visible: Mask, full_area: int, side: int) -> bool:
    if np.count_nonzero(visible) < MIN_VISIBLE_PART * full_area:
        return False
    ymin, xmin, ymax, xmax = _box(visible)
    return min(ymax - ymin, xmax - xmin) >= MIN_VISIBLE_SIDE * side


def _area(name: str, radius: float) -> int:
    corners = _CORNERS.get(name)
    if corners is None:
        return round(math.pi * radius**2)
    return round(corners / 2 * radius**2 * math.sin(2 * math.pi / corners))


def _distance(name: str, height: int, width: int, centre: tuple[float, float], radius: float, angle: float) -> Floats:
    """Signed distance of each pixel's centre to the shape's edge, in pixels, negative inside."""
    y = (np.arange(height, dtype=np.float32) + 0.5 - centre[0])[:, None]
    x = (np.arange(width, dtype=np.float32) + 0.5 - centre[1])[None, :]
    corners = _CORNERS.get(name)
    if corners is None:
        round_distance: Floats = np.sqrt(x * x + y * y) - np.float32(radius)
        return round_distance
    # A regular polygon is the intersection of its edges' half planes.
    distance: Floats = np.full((height, width), -np.inf, dtype=np.float32)
    for edge in range(corners):
        normal = angle + 2 * math.pi * edge / corners
        np.maximum(distance, x * np.float32(math.cos(normal)) + y * np.float32(math.sin(normal)), out=distance)
    distance -= np.float32(radius * math.cos(math.pi / corners))
    return distance


def _box(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return (0, 0, 0, 0)
    return int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1


def _background(rng: np.random.Generator, height: int, width: int) -> Floats:
    """A dull colour with blotches and stripes, so that objects are not the only flat areas."""
    dull = rng.uniform(60, 195) + rng.uniform(-25, 25, 3)
    canvas = np.broadcast_to(dull.astype(np.float32), (height, width, 3)).copy()
    for cells, strength in ((4, 22.0), (24, 10.0)):
        canvas += strength * _blotches(rng, height, width, cells)[:, :, None]
    angle, period = rng.uniform(0, math.pi), rng.uniform(0.03, 0.1) * min(height, width)
    y, x = np.arange(height, dtype=np.float32)[:, None], np.arange(width, dtype=np.float32)[None, :]
    phase = (x * np.float32(math.cos(angle)) + y * np.float32(math.sin(angle))) * np.float32(2 * math.pi / period)
    canvas += np.float32(rng.uniform(0, 9)) * np.sin(phase)[:, :, None]
    return canvas


def _blotches(rng: np.random.Generator, height: int, width: int, cells: int) -> Floats:
    coarse = Image.fromarray(rng.uniform(-1, 1, (cells, cells)).astype(np.float32))
    return np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)


def _contrasting_colour(rng: np.random.Generator, others: list[Colour]) -> Colour:
    """The one of a few random colours that is farthest from the background and the other shapes."""
    candidates = rng.uniform(0, 255, (12, 3)).astype(np.float32)
    nearest = np.linalg.norm(candidates[:, None, :] - np.stack(others)[None, :, :], axis=2).min(axis=1)
    best: Colour = candidates[int(nearest.argmax())]
    return best


def _paint(rng: np.random.Generator, canvas: Floats, coverage: Floats, colour: Colour) -> None:
    height, width = coverage.shape
    shade = 12 * _blotches(rng, height, width, 6)[:, :, None]
    canvas += coverage[:, :, None] * (colour + shade - canvas)
