"""The probe's decisions: which micro-batch to measure next, and which one to train with.

It starts with the largest micro-batch that is expected to fit; if that is right, the probe needs no extra trace. It
tries another one only if the measurements say that a larger one fits, or that this one does not. The chosen micro-batch
was itself measured, so a wrong guess costs one trace and not an attempt.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from services.domain.contract import Probe
from worker.trainer.memory.graph_memory import Walk

Points = Mapping[int, int | None]  # peak in bytes by micro-batch; None: ran out of memory

# The fraction of the limit to keep free: equal steps have unequal peaks. Training needed up to 15 % more than two steps
# and up to 4 % more than ten (`benchmarks/probe_error.py`). The memory law keeps the same margin after one measurement,
# so the plan of the next job accepts what the probe accepts.
_MARGIN = 0.055
_SHORT = 1.12  # peak of many steps, relative to that of two or three


def choose(probe: Probe, batch: int, measure: Callable[[int], int | None]) -> tuple[int, dict[int, int | None]]:
    """The micro-batch to train with, and the results of `measure`, which include the chosen one.

    If not even the smallest fits, it is chosen all the same: training will fail with it and report why.
    """
    points: dict[int, int | None] = {}
    while (best := best_guess(probe, batch, points)) not in points:
        points[best] = measure(best)
    return best, points


def with_walk(probe: Probe, batch: int, walked: Walk | None) -> Probe:
    """Replace expectations that were guessed from other models by the estimate from the step's own graph."""
    if walked is None or not probe.is_guess:
        return probe
    sums = probe.sums_bytes if walked.micro_batch < batch else 0  # `walked` counts the gradient sums as variables
    fixed, image = max(walked.fixed_bytes - sums, 1), max(walked.image_bytes, 1)
    return replace(probe, fixed_bytes=fixed, image_bytes=image)


def best_guess(probe: Probe, batch: int, points: Points = MappingProxyType({})) -> int:
    """The largest micro-batch that fits as far as known; the smallest if none does."""
    return next((size for size in probe.micro_batches if _fits(probe, batch, points, size)), probe.micro_batches[-1])


def _fits(probe: Probe, batch: int, points: Points, size: int) -> bool:
    if any(peak is None and tried <= size for tried, peak in points.items()):
        return False
    return (points.get(size) or _predict(probe, batch, points, size)) <= probe.limit_bytes * (1 - _MARGIN)


def _predict(probe: Probe, batch: int, points: Points, size: int) -> float:
    """Predict the peak at `size`: by the line through two measurements, else by the expectation, scaled to fit them.

    A few steps that need less than expected prove little, since many steps may need more: `_SHORT` allows for that.
    """

    def sums(at: int) -> int:
        return probe.sums_bytes if at < batch else 0

    def expected(at: int) -> int:
        return probe.fixed_bytes + at * probe.image_bytes

    known = {at: peak - sums(at) for at, peak in sorted(points.items()) if peak is not None}
    if len(known) > 1:
        (low, least), *_, (high, most) = known.items()
        slope = (most - least) / (high - low)
        if 0 < slope * low < least:
            return sums(size) + least + slope * (size - low)
    scales = [max(ratio, min(1.0, _SHORT * ratio)) for ratio in (peak / expected(at) for at, peak in known.items())]
    scales += [(probe.limit_bytes - sums(at)) / expected(at) for at, peak in points.items() if peak is None]
    return sums(size) + max(scales, default=1.0) * expected(size)
