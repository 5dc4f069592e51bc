"""How large images and boxes are and how many, as histograms: the memory does not grow with the dataset."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from services.datasets.annotations import Annotated

__all__ = ["Histogram", "Statistics", "share_below", "smallest_side"]

_IMAGE_SIDES = (0, 16, 32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 3072, 4096, 6144, 8192)
_BOX_SIDES = (0, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)
_BOX_SHARES = (0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_ASPECTS = (0, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1.25, 1.5, 2, 3, 5, 10)
_COUNTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 100, 200, 500)
_MOST_SIZES = 1000  # sizes of images that are told apart
_LISTED_SIZES = 20


@dataclass
class Histogram:
    """`edges`: where bins begin. The first one is the least possible value, the last bin has no end."""

    edges: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * len(self.edges)

    def add(self, value: float) -> None:
        self.counts[bisect_right(self.edges, value) - 1] += 1
        self.total += value
        self._widen(value, value)

    def merge(self, other: "Histogram") -> None:
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.total += other.total
        if other.least is not None and other.most is not None:
            self._widen(other.least, other.most)

    def _widen(self, least: float, most: float) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)

    def as_json(self) -> dict[str, Any]:
        """From the first bin that holds something to the last one. `to` is null for the bin without an end."""
        ends = (*self.edges[1:], None)
        held = [number for number, count in enumerate(self.counts) if count]
        shown = range(held[0], held[-1] + 1) if held else range(0)
        count = sum(self.counts)
        return {
            "bins": [{"from": self.edges[n], "to": ends[n], "count": self.counts[n]} for n in shown],
            "min": _rounded(self.least),
            "max": _rounded(self.most),
            "mean": _rounded(self.total / count) if count else None,
        }


# Box sizes are the square root of the box's area; a share is that of the square root of the image's area.
_HISTOGRAMS = {
    "image_width": _IMAGE_SIDES,
    "image_height": _IMAGE_SIDES,
    "boxes_per_image": _COUNTS,
    "box_pixels": _BOX_SIDES,
    "box_share": _BOX_SHARES,
    "box_aspect": _ASPECTS,  # width by height
}


class Statistics:
    """Of one split."""

    def __init__(self) -> None:
        self._histograms = {name: Histogram(edges) for name, edges in _HISTOGRAMS.items()}
        self._sizes: Counter[tuple[int, int]] = Counter()  # width, height
        self._other_sizes = 0  # images whose size came after there were `_MOST_SIZES`

    def add(self, found: Annotated) -> None:
        """One image without problems."""
        if found.size is None:
            return
        height, width = found.size
        self._add_size((width, height), 1)
        self._histograms["image_width"].add(width)
        self._histograms["image_height"].add(height)
        self._histograms["boxes_per_image"].add(len(found.boxes))
        for ymin, xmin, ymax, xmax in found.boxes:
            high, wide = ymax - ymin, xmax - xmin
            share = sqrt(high * wide)
            self._histograms["box_share"].add(share)
            self._histograms["box_pixels"].add(share * sqrt(height * width))
            self._histograms["box_aspect"].add(wide * width / (high * height))

    def merge(self, other: "Statistics") -> None:
        for name, histogram in self._histograms.items():
            histogram.merge(other._histograms[name])
        for size, count in other._sizes.items():
            self._add_size(size, count)
        self._other_sizes += other._other_sizes

    def _add_size(self, size: tuple[int, int], count: int) -> None:
        if size in self._sizes or len(self._sizes) < _MOST_SIZES:
            self._sizes[size] += count
        else:
            self._other_sizes += count

    def as_json(self) -> dict[str, Any]:
        listed = sorted(self._sizes.items(), key=lambda item: (-item[1], item[0]))[:_LISTED_SIZES]
        others = self._sizes.total() + self._other_sizes - sum(count for _, count in listed)
        return {
            "image_sizes": [{"width": w, "height": h, "count": count} for (w, h), count in listed],
            "other_image_sizes": others,
            **{name: histogram.as_json() for name, histogram in self._histograms.items()},
        }


def share_below(histogram: Mapping[str, Any], value: float) -> float:
    """About which share of what a stored histogram counts is below `value`, as if each bin were even."""
    below = count = 0.0
    for one in histogram["bins"]:
        start, end = one["from"], one["to"] if one["to"] is not None else max(histogram["max"], one["from"])
        part = (value - start) / (end - start) if end > start else float(value > start)
        below += one["count"] * min(max(part, 0.0), 1.0)
        count += one["count"]
    return below / count if count else 0.0


def smallest_side(found: Annotated) -> float:
    """The square root of the area of the smallest box, in pixels; infinite without boxes."""
    if found.size is None:
        return float("inf")
    pixels = found.size[0] * found.size[1]
    areas = ((ymax - ymin) * (xmax - xmin) for ymin, xmin, ymax, xmax in found.boxes)
    return sqrt(min(areas, default=float("inf")) * pixels)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
