"""What `train` of a request asks of evaluations."""

import dataclasses

import pytest

from services.domain import catalogue
from services.domain.contract import BestMetric, EarlyStopping, Kept
from services.domain.pipeline_config import build_config, plan_of
from services.domain.plan.evaluation import DEFAULTS, EvaluationSettings, fewest_for

PLAN = plan_of(build_config(catalogue.get("efficientdet_d0"), 1, (256, 256), 4, 100))


@pytest.mark.parametrize("request_", [{}, {"train": None}, {"train": {}}, {"train": {"early_stopping": None}}])
def test_what_is_left_out_has_its_default(request_: dict[str, object]) -> None:
    assert EvaluationSettings.of_request(request_) == DEFAULTS


def test_all_of_it_is_read() -> None:
    train = {"evaluations": 7, "best_metric": "mask_mAP", "early_stopping": {"patience": 2}, "export": "last"}
    expected = EvaluationSettings(7, BestMetric.MASK_MAP, EarlyStopping(2, 0.001), Kept.LAST)
    assert EvaluationSettings.of_request({"train": train}) == expected
    with pytest.raises(ValueError, match="map"):
        EvaluationSettings.of_request({"train": {"best_metric": "map"}})


def test_the_fewest_evaluations_for_a_patience_are_the_fewest() -> None:
    for steps in range(1, 40):
        plan = dataclasses.replace(PLAN, steps=steps)
        before_end = [plan.evaluations_before_end(count) for count in range(1, 60)]
        for patience in range(1, 12):
            enough = [count for count, there in enumerate(before_end, start=1) if there > patience]
            assert fewest_for(plan, patience) == (enough[0] if enough else None), (steps, patience)


def test_evaluations_before_the_end_are_those_that_the_trainer_makes_between_steps() -> None:
    for steps in range(1, 40):
        plan = dataclasses.replace(PLAN, steps=steps)
        for count in (None, *range(1, 50)):
            every = plan.evaluate_every(count)
            due = [step for step in range(1, steps) if every and step % every == 0]
            assert plan.evaluations_before_end(count) == len(due)
