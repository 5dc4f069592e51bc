"""What the planner answers: a plan with its reasons, or why there is none."""

from dataclasses import dataclass

from services.domain.memory.law import Prediction, Source
from services.domain.plan import changes as plan_changes
from services.domain.plan.changes import Change
from services.domain.plan.plan import Plan
from services.domain.sizes import in_mb

__all__ = ["Decision", "GiveUp", "basis", "capitalised", "decide"]


@dataclass(frozen=True)
class Decision:
    """`changes` are relative to the plan before this one; empty where that plan is kept."""

    plan: Plan
    prediction: Prediction
    changes: tuple[Change, ...]
    summary: str


@dataclass(frozen=True)
class GiveUp:
    """No plan within the policy's floors fits."""

    reason: str


def decide(before: Plan, plan: Plan, prediction: Prediction, capacity: int, cause: str) -> Decision:
    """The decision for `plan` instead of `before`. `cause` is a clause: why `before` does not fit."""
    fit = f"predicted {in_mb(prediction.bytes)} of {in_mb(capacity)}"
    if prediction.high > capacity:
        fit += f", though it may take {in_mb(prediction.high)}"
    fit += f", {basis(plan, prediction)}"
    why = f"{fit}; {cause}"
    changes = plan_changes.changes(before, plan, why)
    if not changes:
        return Decision(plan, prediction, (), f"Kept as it is: {fit}.")
    words = f"{capitalised(plan_changes.describe(before, plan))}: {why}"
    return Decision(plan, prediction, changes, f"{plan_changes.with_cost(words, plan_changes.costs(before, plan))}.")


def basis(plan: Plan, prediction: Prediction) -> str:
    """What a prediction for `plan` was made from, as a clause."""
    if prediction.points:
        several = f"{prediction.points} measurements" if prediction.points > 1 else "one measurement"
        scaled = "scaled from" if prediction.source is Source.SCALED else "from"
        return f"{scaled} {several} of {plan.model} here"
    if prediction.source is Source.CATALOGUE:
        return f"from the catalogue (no {plan.model} measured here yet)"
    return "from the catalogue, raised because less has already run out of memory"


def capitalised(words: str) -> str:
    """With a capital at the start; the rest stays as it is, unlike str.capitalize()."""
    return f"{words[0].upper()}{words[1:]}"
