"""The probe before training: when an attempt needs one, what it may choose, and a sentence about its result."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from services.domain.contract import Probe
from services.domain.memory import prior
from services.domain.memory.law import MemoryLaw, Point, Source
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.candidates import positions_of
from services.domain.sizes import in_mb

__all__ = ["found", "probe_for"]


def probe_for(
    asked: Plan, plan: Plan, policy: Policy, points: Iterable[Point], limit: int, *, is_first: bool
) -> Probe | None:
    """The probe for an attempt under `plan` on a device with `limit` bytes; None where it needs none.

    It needs none where this host has measured the plan, where the micro-batch must not change, and for a first attempt
    without planning ahead. On a first attempt the probe may choose up to the micro-batch that was asked for; on a later
    one, at most the planned one.
    """
    if is_first and not policy.plan_ahead:
        return None
    largest = asked.micro_batch if is_first and asked.batch_size == plan.batch_size else plan.micro_batch
    start = dataclasses.replace(plan, micro_batch=max(largest, plan.micro_batch))
    points = [dataclasses.replace(point, software=None) for point in points]
    choices = positions_of(start, policy, half=None)[Lever.MICRO_BATCH]
    if len(choices) < 2 or _is_known(plan, points):
        return None
    scale = MemoryLaw(points).predict(plan).bytes / MemoryLaw().predict(plan).bytes
    fixed, sums, *image = prior.need(dataclasses.replace(plan, micro_batch=1)).training
    return Probe(
        micro_batches=tuple(choices),
        limit_bytes=limit,
        fixed_bytes=round(scale * fixed),
        image_bytes=round(scale * sum(image)),
        sums_bytes=round(sums),
        is_guess=not points and not prior.of(plan.model).measured,
    )


def _is_known(plan: Plan, points: Sequence[Point]) -> bool:
    """Whether the plan itself was measured, or its model several times in other shapes."""
    as_it_is = [Point.of(plan, p.peak_bytes, evaluation_bytes=p.evaluation_bytes) for p in points if p.trained]
    return not set(points).isdisjoint(as_it_is) or MemoryLaw(points).predict(plan).source is Source.MEASURED


def found(points: Mapping[int, int | None], limit: int) -> str:
    """A clause: "the probe measured 461 MB at micro-batch 2 and 829 MB at 4, of 1000 MB"."""
    peaks = [
        f"{'more than there is' if peak is None else in_mb(peak)} at {'' if number else 'micro-batch '}{size}"
        for number, (size, peak) in enumerate(points.items())
    ]
    return f"the probe measured {' and '.join(peaks)}, of {in_mb(limit)}"
