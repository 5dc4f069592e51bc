"""The probe: measure the step on the worst input, choose the micro-batch, before training and in the same process.

It begins with the largest micro-batch that is expected to fit: where that one proves right, the probe has cost no trace
of its own. Another one is tried only where what was measured says that a larger one fits, or that this one does not.
What is chosen was measured too, so a wrong guess costs one trace and not an attempt.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from services.domain.contract import Probe
from worker.trainer.graph_memory import Walk

Points = Mapping[int, int | None]  # micro-batch: peak in bytes; None: more than there is

# Of the limit that must be left: equal steps do not peak equally. Training came to up to 15 % more than two of them,
# and up to 4 % more than ten (`benchmarks/probe_error.py`). It is what the memory law allows for after one measurement:
# what the probe takes, the plan of the next job takes too.
_ROOM = 0.055
_SHORT = 1.12  # what many steps were seen to need, of what two or three did


def choose(probe: Probe, batch: int, measure: Callable[[int], int | None]) -> tuple[int, dict[int, int | None]]:
    """The micro-batch to train with, and what `measure` said of those that were tried. The chosen one is among them.

    Where not even the smallest fits, that one: training with it will fail, and say why.
    """
    points: dict[int, int | None] = {}
    while (best := best_guess(probe, batch, points)) not in points:
        points[best] = measure(best)
    return best, points


def with_walk(probe: Probe, batch: int, walked: Walk | None) -> Probe:
    """What the step's own graph says takes the place of what is guessed from other models."""
    if walked is None or not probe.is_guess:
        return probe
    sums = probe.sums_bytes if walked.micro_batch < batch else 0  # among the variables that were walked
    fixed, image = max(walked.fixed_bytes - sums, 1), max(walked.image_bytes, 1)
    return replace(probe, fixed_bytes=fixed, image_bytes=image)


def best_guess(probe: Probe, batch: int, points: Points = MappingProxyType({})) -> int:
    """The largest micro-batch that fits by what is known; the smallest one where none does."""
    return next((size for size in probe.micro_batches if _fits(probe, batch, points, size)), probe.micro_batches[-1])


def _fits(probe: Probe, batch: int, points: Points, size: int) -> bool:
    if any(peak is None and tried <= size for tried, peak in points.items()):
        return False
    return (points.get(size) or _predict(probe, batch, points, size)) <= probe.limit_bytes * (1 - _ROOM)


def _predict(probe: Probe, batch: int, points: Points, size: int) -> float:
    """The peak at `size`: along the line through two measurements, or the expected one scaled by what is known.

    A few steps that needed less than expected prove little: many may need more.
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
