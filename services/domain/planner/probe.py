"""The probe of an attempt: when one is worth its seconds, what it may choose, and what it found in words."""

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
    """The probe of an attempt under `plan` where the allocator may have `limit` bytes; None where it needs none.

    None where the box has measured what the plan needs, where the micro-batch may not be changed, and for a first
    attempt that is not to be planned ahead. A first attempt may come up to the micro-batch that was asked for; a later
    one has been planned for what ran out, and may only go down.
    """
    if is_first and not policy.plan_ahead:
        return None
    largest = asked.micro_batch if is_first and asked.batch_size == plan.batch_size else plan.micro_batch
    start = dataclasses.replace(plan, micro_batch=max(largest, plan.micro_batch))
    points = [dataclasses.replace(point, software=None) for point in points]
    choices = positions_of(start, policy, bfloat16=False)[Lever.MICRO_BATCH]
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
    """Measured as it is, or several times in other shapes."""
    as_it_is = [Point.of(plan, p.peak_bytes, evaluation_bytes=p.evaluation_bytes) for p in points if p.trained]
    return not set(points).isdisjoint(as_it_is) or MemoryLaw(points).predict(plan).source is Source.MEASURED


def found(points: Mapping[int, int | None], limit: int) -> str:
    """What a probe measured: "measured 461 MB at micro-batch 2 and 829 MB at 4, of 1000 MB"."""
    told = [
        f"{'more than there is' if peak is None else in_mb(peak)} at {'' if number else 'micro-batch '}{size}"
        for number, (size, peak) in enumerate(points.items())
    ]
    return f"the probe measured {' and '.join(told)}, of {in_mb(limit)}"
