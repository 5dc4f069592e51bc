"""A plan that was made smaller grows back on a larger device."""

import pytest

from services.domain.plan.learning_rate import rescaled_to_batch
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.grown_plan import grown_plan
from services.domain.planner.request import Failure, PlanRequest
from services.domain.precision import Precision
from tests.support.plans import D0, GB, LAW, R101, but, need


def grown(current, capacity, *failures, asked=R101, meant_for=2 * GB):
    return grown_plan(PlanRequest(asked, Policy(), LAW), current, meant_for, capacity, failures)


SHRUNK = but(R101, micro_batch=1, image_size=(512, 512), proposals=100, second_stage_batch=50)


def test_on_a_larger_device_a_plan_grows_back_to_what_was_asked_for():
    decision = grown(SHRUNK, need(R101))
    assert decision.plan == R101
    assert {change.lever for change in decision.changes} == {"micro_batch", "proposals", "image_size"}
    assert decision.summary.startswith("Raised again towards what was asked for. Micro-batch 16")
    assert "it was reduced to fit 2048 MB" in decision.summary
    assert "what it costs" not in decision.summary


def test_it_grows_as_far_as_the_memory_allows():
    capacity = need(but(R101, micro_batch=4))
    assert grown(SHRUNK, capacity).plan == but(R101, micro_batch=4)


@pytest.mark.parametrize("precision", [Precision.BFLOAT16, Precision.FLOAT16])
def test_precision_grows_back_too_even_where_the_device_is_not_fast_in_it(precision):
    half = but(D0, precision=precision, micro_batch=1)
    assert grown(half, 64 * GB, asked=D0).plan == D0
    assert grown(half, need(half), asked=D0, meant_for=1) is None


def test_a_backbone_and_a_batch_stay_as_they_are_when_a_plan_grows():
    current = rescaled_to_batch(but(SHRUNK, model="faster_rcnn_resnet50_fpn"), 4, 1)
    plan = grown(current, 200 * GB).plan
    assert plan == but(current, micro_batch=4, image_size=(640, 640), proposals=300, second_stage_batch=64)


@pytest.mark.parametrize(
    ("current", "capacity", "meant_for"),
    [(R101, 200 * GB, GB), (SHRUNK, 200 * GB, 200 * GB), (SHRUNK, need(SHRUNK), GB)],
    ids=["as asked already", "no larger a device", "no room for more"],
)
def test_without_a_gain_the_plan_stays(current, capacity, meant_for):
    assert grown(current, capacity, meant_for=meant_for) is None


def test_a_plan_that_failed_on_such_a_device_does_not_return():
    capacity = need(R101)
    assert grown(SHRUNK, capacity, Failure(R101, capacity, attempt=1)).plan == but(R101, micro_batch=8)
    assert grown(SHRUNK, capacity, Failure(R101, 2 * GB, attempt=1)).plan == R101


def test_growing_leaves_forbidden_levers_alone():
    policy = Policy(levers=(Lever.IMAGE_SIZE,))
    current = but(D0, image_size=(384, 384))
    decision = grown_plan(PlanRequest(D0, policy, LAW), current, GB, 64 * GB, [])
    assert decision is not None
    assert decision.plan == D0
