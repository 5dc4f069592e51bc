"""Whether memory grew from step to step: the slope through samples that were taken at equal points of equal steps."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Growth", "Sample", "growth_of", "slopes", "thinned"]

_FEWEST = 8  # samples from which anything is concluded
_MOST = 60  # samples that are compared with each other
_WARM_UP = 0.1  # share of the samples, at the start, while caches fill
_STEADY = 0.8  # share of the pairs of samples that must agree on growth


@dataclass(frozen=True)
class Sample:
    step: int
    in_use: int  # bytes, between two steps
    peak: int | None = None  # bytes, up to then
    time: float | None = None  # seconds since 1970


@dataclass(frozen=True)
class Growth:
    bytes_per_step: float
    steps: int  # from the first sample that counts to the last
    bytes: int  # what was gained over them
    steady: bool  # most samples agree that it grew


def growth_of(samples: Sequence[Sample]) -> Growth | None:
    """The median of the slopes between all pairs (Theil and Sen): a few odd samples do not change it.

    None where there are too few samples to tell. A cost of at most `_MOST` squared, however many there are.
    """
    counted = thinned([(sample.step, float(sample.in_use)) for sample in samples], _MOST)
    found = slopes(counted)
    if len(counted) < _FEWEST or not found:
        return None
    slope, steps = statistics.median(found), counted[-1][0] - counted[0][0]
    steady = sum(one > 0 for one in found) >= _STEADY * len(found)
    return Growth(slope, steps, int(slope * steps), steady)


def thinned(series: Iterable[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """(step, bytes) by step, without the time in which caches and buffers fill, and at most `most` of them."""
    points = sorted(series)
    points = points[int(len(points) * _WARM_UP) :]
    return points[:: max(1, -(-len(points) // most))]


def slopes(points: Sequence[tuple[int, float]]) -> list[float]:
    """Between all pairs of points. Their median is Theil and Sen's slope, which odd points do not move."""
    return [
        (there[1] - here[1]) / (there[0] - here[0])
        for number, here in enumerate(points)
        for there in points[number + 1 :]
        if there[0] > here[0]
    ]
