"""The ladder of a job: the plans that would follow one another as memory gets scarcer."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.domain.memory.law import Prediction
from services.domain.plan import changes as plan_changes
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever
from services.domain.planner.candidates import Candidate, candidates
from services.domain.planner.decision import capitalised
from services.domain.planner.request import PlanRequest
from services.domain.sizes import in_mb

__all__ = ["Rung", "ladder"]

_WORTH_SHOWING = 0.05  # of the memory; rungs that save less make a ladder long and tell people nothing


@dataclass(frozen=True)
class Rung:
    """What the planner would choose where the rung before does not fit."""

    plan: Plan
    prediction: Prediction
    fits: tuple[bool, ...]  # for each of the capacities
    lever: Lever | None  # the last in the policy's order that moved since the rung before; None: what was asked for
    sentence: str
    cost: str | None  # compared with what was asked for


def ladder(
    request: PlanRequest, capacities: Sequence[int], *, below: Plan | None = None, most: int | None = None
) -> list[Rung]:
    """The plans that `first_plan` could choose, from what was asked for down to the floors; small steps left out.

    `below`: only plans that need less than this one. `most`: at most so many rungs.
    """
    return list(itertools.islice(_rungs(request, capacities, below), most))


def _rungs(request: PlanRequest, capacities: Sequence[int], below: Plan | None) -> Iterator[Rung]:
    before, shown = below, request.law.predict(below).high if below else None
    left_out = None
    for candidate, prediction in _descending(request, below):
        plan = candidate.plan(request.asked)
        if shown is not None and prediction.high > shown * (1 - _WORTH_SHOWING):
            left_out = plan, prediction
            continue
        yield _rung(request, before, plan, prediction, capacities)
        before, shown, left_out = plan, prediction.high, None
    if left_out is not None:  # the floor is worth knowing
        yield _rung(request, before, *left_out, capacities)


def _descending(request: PlanRequest, below: Plan | None) -> Iterator[tuple[Candidate, Prediction]]:
    """The candidates that need less than all before them, and less than `below`."""
    lowest = request.law.predict(below).high if below else None
    largest_model = below.model if below else None
    for candidate in candidates(request.asked, request.policy, half=request.half, largest_model=largest_model):
        prediction = request.law.predict(candidate)
        if lowest is None or prediction.high < lowest:
            lowest = prediction.high
            yield candidate, prediction


def _rung(
    request: PlanRequest, before: Plan | None, plan: Plan, prediction: Prediction, capacities: Sequence[int]
) -> Rung:
    moved = plan_changes.pulled(before, plan) if before else []
    lever = next((lever for lever in reversed(request.policy.levers) if lever in moved), None)
    fits = tuple(prediction.high <= capacity for capacity in capacities)
    cost = plan_changes.costs(request.asked, plan)
    words = capitalised(plan_changes.describe(request.asked, plan))
    said = f"{words}: about {in_mb(prediction.bytes)}, at most {in_mb(prediction.high)}"
    return Rung(plan, prediction, fits, lever, f"{plan_changes.with_cost(said, cost)}.", cost or None)
