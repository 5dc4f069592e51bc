"""Check what a request asks of evaluations: a metric that its model has, and a rule that can ever stop it."""

from collections.abc import Iterator, Mapping
from typing import Any

from services.domain import catalogue, pipeline_config
from services.domain.checkpoints.best import is_of_masks
from services.domain.contract import BestMetric
from services.domain.pipeline_config import Config
from services.domain.plan.evaluation import EvaluationSettings, fewest_for
from services.domain.plan.plan import Plan
from services.domain.sizes import counted
from services.errors import Fault

__all__ = ["evaluation_faults"]


def evaluation_faults(request: Mapping[str, Any], config: Config, asked: Plan) -> Iterator[Fault]:
    """`config`: the one that is asked for, whose evaluators decide which metrics there are."""
    train = request.get("train") or {}
    name = train.get("best_metric") or BestMetric.MAP
    has_masks = catalogue.get(asked.model).needs_masks
    known = [metric for metric in BestMetric if has_masks or not is_of_masks(metric)]
    if name not in known:
        why = f"{asked.model} predicts no masks" if name in list(BestMetric) else f"there is no metric {name!r}"
        yield Fault("train.best_metric", f"{why}: send one of {', '.join(known)}")
        return
    settings = EvaluationSettings.of_request(request)
    is_needed = bool(train.get("best_metric")) or settings.early_stopping is not None
    if is_needed and not is_of_masks(settings.best_metric) and not pipeline_config.evaluates_boxes(config):
        problem = f"{name} is not computed: add coco_detection_metrics to eval_config.metrics_set"
        yield Fault("train.best_metric", f"{problem}, or choose one of masks" if has_masks else problem)
    if settings.early_stopping is not None:
        yield from _never_stops(settings, asked, settings.early_stopping.patience)


def _never_stops(settings: EvaluationSettings, asked: Plan, patience: int) -> Iterator[Fault]:
    before_end = asked.evaluations_before_end(settings.count)
    if before_end > patience:
        return
    fewest = fewest_for(asked, patience)
    advice = "train for more steps" if fewest is None else f"send train.evaluations of at least {fewest}"
    seen = f"{counted(patience, 'evaluation')} without a gain can only be seen with {patience + 1} before the end"
    there = f"{counted(asked.steps, 'step')} have {before_end}"
    yield Fault("train.early_stopping.patience", f"{seen}, and {there}: {advice}, or a smaller patience")
