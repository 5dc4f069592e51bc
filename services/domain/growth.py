"""Whether memory grew from step to step: the slope through samples that were taken at equal points of equal steps."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Growth", "Sample", "growth_of"]

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
    ordered = sorted(samples, key=lambda sample: sample.step)
    counted = ordered[int(len(ordered) * _WARM_UP) :]
    counted = counted[:: -(-len(counted) // _MOST) or 1]
    if len(counted) < _FEWEST or counted[-1].step == counted[0].step:
        return None
    slopes = [
        (later.in_use - earlier.in_use) / (later.step - earlier.step)
        for at, earlier in enumerate(counted)
        for later in counted[at + 1 :]
        if later.step > earlier.step
    ]
    slope, steps = statistics.median(slopes), counted[-1].step - counted[0].step
    steady = sum(one > 0 for one in slopes) >= _STEADY * len(slopes)
    return Growth(slope, steps, int(slope * steps), steady)
