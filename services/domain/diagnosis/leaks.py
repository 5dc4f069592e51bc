"""Memory that grows from step to step: how fast, from the series that an attempt reported."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from services.domain.diagnosis.growth import slopes, thinned
from services.domain.sizes import in_mb

__all__ = ["Slope", "fit", "in_words"]

_FEWEST = 8  # values; fewer prove nothing
_MOST = 200  # values that are compared with each other; every one of more would cost seconds and tell no more
_WORTH_SAYING = 0.02  # of what was held at first, over the whole series
_ABOVE_NOISE = 3  # times the usual distance from the line


@dataclass(frozen=True)
class Slope:
    bytes_per_step: float
    steps: int  # over how many it was seen
    first_bytes: int
    last_bytes: int


def fit(series: Sequence[tuple[int, float]]) -> Slope | None:
    """The slope through (step, bytes) by Theil and Sen, the median over all pairs: odd values do not move it.

    None where there are too few values, or no growth worth the name.
    """
    points = thinned(series, _MOST)
    found = slopes(points)
    if len(points) < _FEWEST or not found:
        return None
    slope, steps = statistics.median(found), points[-1][0] - points[0][0]
    start = statistics.median(value - slope * (step - points[0][0]) for step, value in points)
    noise = statistics.median(abs(value - start - slope * (step - points[0][0])) for step, value in points)
    if slope * steps <= max(_WORTH_SAYING * start, _ABOVE_NOISE * noise):
        return None
    return Slope(slope, steps, round(start), round(start + slope * steps))


def in_words(what: str, slope: Slope) -> str:
    """ "device memory grew by 3.1 MB a step over 1200 steps, from 922 MB to 4639 MB" """
    grown = f"from {in_mb(slope.first_bytes)} to {in_mb(slope.last_bytes)}"
    return f"{what} grew by {in_mb(round(slope.bytes_per_step))} a step over {slope.steps} steps, {grown}"
