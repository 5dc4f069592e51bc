"""What `train` asks of evaluations: how many, the metric of the best checkpoint, when to stop, what to export."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from services.domain.contract import BestMetric, EarlyStopping, Kept
from services.domain.plan.plan import Plan

__all__ = ["DEFAULTS", "EvaluationSettings", "fewest_for"]


@dataclass(frozen=True)
class EvaluationSettings:
    """`count`: how many, the last of which is at the end; None: as `Plan.evaluate_every` chooses."""

    count: int | None = None
    best_metric: BestMetric = BestMetric.MAP
    early_stopping: EarlyStopping | None = None
    export: Kept = Kept.BEST

    @classmethod
    def of_request(cls, request: Mapping[str, Any]) -> Self:
        """Raises ValueError for a metric or an export that there is not, and for a rule that makes no sense."""
        train = request.get("train") or {}
        rule = train.get("early_stopping")
        return cls(
            train.get("evaluations"),
            BestMetric(train.get("best_metric") or BestMetric.MAP),
            None if rule is None else EarlyStopping(**rule),
            Kept(train.get("export") or Kept.BEST),
        )


DEFAULTS = EvaluationSettings()


def fewest_for(plan: Plan, patience: int) -> int | None:
    """The fewest `evaluations` with which training can stop before its end; None: it has too few steps for any.

    The first one is what the others are compared with, and one at the end stops nothing.
    """
    for evaluations in range(patience + 2, plan.steps + 1):
        if plan.evaluations_before_end(evaluations) > patience:
            return evaluations
    return None
