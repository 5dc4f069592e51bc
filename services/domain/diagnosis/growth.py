"""Whether memory grew from step to step, and how fast: a line through samples taken at the same point of each step."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from services.domain.sizes import in_mb

__all__ = ["Growth", "Sample", "growth_of", "in_words"]

_FEWEST = 8  # samples; fewer prove nothing
_MOST = 200  # samples that are compared with each other: 20,000 pairs take about 10 ms
_WARM_UP = 0.1  # share of the samples, at the start, while caches and buffers fill
_WORTH_SAYING = 0.02  # of what was held at first, over all steps
_ABOVE_NOISE = 3  # times the usual distance of a sample from the line


class Sample(NamedTuple):
    step: int
    in_use: int  # bytes, between two steps


@dataclass(frozen=True)
class Growth:
    """The line through the samples; it may be flat."""

    bytes_per_step: float
    steps: int  # from the first sample that counts to the last
    first_bytes: int  # by the line, at the first of these steps
    last_bytes: int
    is_clear: bool  # more than noise, and enough to be worth saying

    @property
    def bytes(self) -> int:
        """What was gained over all steps."""
        return self.last_bytes - self.first_bytes


def growth_of(samples: Iterable[Sample]) -> Growth | None:
    """The line by Theil and Sen: its slope is the median over all pairs, so odd samples do not move it.

    None where there are too few samples to tell. The cost is bounded, however many there are.
    """
    points = _thinned(samples)
    slopes = [
        (there.in_use - here.in_use) / (there.step - here.step)
        for number, here in enumerate(points)
        for there in points[number + 1 :]
        if there.step > here.step
    ]
    if len(points) < _FEWEST or not slopes:
        return None
    slope, begin = statistics.median(slopes), points[0].step
    steps = points[-1].step - begin
    start = statistics.median(point.in_use - slope * (point.step - begin) for point in points)
    noise = statistics.median(abs(point.in_use - start - slope * (point.step - begin)) for point in points)
    is_clear = slope * steps > max(_WORTH_SAYING * start, _ABOVE_NOISE * noise)
    return Growth(slope, steps, round(start), round(start + slope * steps), is_clear)


def in_words(what: str, growth: Growth) -> str:
    """ "device memory grew by 3.1 MB a step over 1200 steps, from 922 MB to 4639 MB" """
    grown = f"from {in_mb(growth.first_bytes)} to {in_mb(growth.last_bytes)}"
    return f"{what} grew by {in_mb(round(growth.bytes_per_step))} a step over {growth.steps} steps, {grown}"


def _thinned(samples: Iterable[Sample]) -> list[Sample]:
    """By step, without the warm-up, and at most `_MOST`."""
    points = sorted(samples)
    points = points[int(len(points) * _WARM_UP) :]
    return points[:: max(1, -(-len(points) // _MOST))]
