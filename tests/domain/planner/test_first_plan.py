"""The first plan: the largest that fits, within the floors, with its reasons."""

import pytest

from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.decision import Decision, GiveUp
from services.domain.planner.first_plan import first_plan
from services.domain.planner.ladder import ladder
from services.domain.planner.request import PlanRequest
from services.domain.precision import Precision
from services.domain.sizes import in_mb
from tests.support.plans import D0, GB, LAW, R101, but, need

IMAGES_ONLY = Policy(levers=(Lever.MICRO_BATCH, Lever.IMAGE_SIZE))


def planned(request: PlanRequest, capacity: int | None) -> Decision:
    """The first plan of a job for which there is one."""
    answer = first_plan(request, capacity)
    assert isinstance(answer, Decision)
    return answer


def test_a_plan_that_fits_stays_as_asked():
    decision = planned(PlanRequest(D0, Policy(), LAW), need(D0))
    assert (decision.plan, decision.changes) == (D0, ())
    assert decision.prediction == LAW.predict(D0)


@pytest.mark.parametrize(("policy", "capacity"), [(Policy(plan_ahead=False), 1), (Policy(), None)])
def test_without_planning_ahead_the_first_attempt_is_as_asked(policy, capacity):
    decision = planned(PlanRequest(D0, policy, LAW), capacity)
    assert (decision.plan, decision.changes) == (D0, ())
    assert "as asked" in decision.summary


def test_the_largest_micro_batch_that_fits_is_found_at_once():
    decision = planned(PlanRequest(D0, Policy(), LAW), 4 * GB)
    assert decision.plan == but(D0, micro_batch=4)
    assert need(decision.plan) <= 4 * GB < need(but(D0, micro_batch=8))
    (change,) = decision.changes
    assert (change.lever, change.field, change.before, change.after) == ("micro_batch", "micro_batch", "16", "4")
    assert change.reason.startswith("batch 16 is kept and computed in pieces of 4: predicted ")
    assert "of 4096 MB, from the catalogue (no efficientdet_d0 measured here yet)" in change.reason
    assert "; as asked it would need about " in change.reason
    assert change.reason.endswith("cost: steps take longer, and batch normalisation sees 4 images at a time")


def test_any_divisor_of_the_batch_may_be_the_micro_batch():
    asked = but(D0, batch_size=12, micro_batch=12)
    assert planned(PlanRequest(asked, Policy(), LAW), need(but(asked, micro_batch=3))).plan.micro_batch == 3


def test_a_micro_batch_of_one_at_full_size_comes_before_a_smaller_image():
    decision = planned(PlanRequest(D0, IMAGES_ONLY, LAW), need(but(D0, micro_batch=1)))
    assert decision.plan == but(D0, micro_batch=1)


def test_once_the_image_must_shrink_the_micro_batch_grows_again():
    less = need(but(D0, micro_batch=1)) - 1
    decision = planned(PlanRequest(D0, IMAGES_ONLY, LAW), less)
    assert decision.plan.image_size == (384, 384)
    larger = but(decision.plan, micro_batch=2 * decision.plan.micro_batch)
    assert need(decision.plan) <= less < need(larger)


def test_the_policys_order_decides_which_lever_goes_first():
    policy = Policy(levers=(Lever.IMAGE_SIZE, Lever.MICRO_BATCH))
    decision = planned(PlanRequest(D0, policy, LAW), need(but(D0, image_size=(384, 384))))
    assert decision.plan == but(D0, image_size=(384, 384))


@pytest.mark.parametrize("fast", [Precision.BFLOAT16, Precision.FLOAT16])
def test_precision_is_a_lever_only_where_the_device_is_good_at_it(fast):
    half = but(D0, micro_batch=1, precision=fast)
    capacity = need(half)
    assert planned(PlanRequest(D0, Policy(), LAW, fast), capacity).plan == half
    assert planned(PlanRequest(D0, Policy(), LAW), capacity).plan.precision is Precision.FLOAT32


def test_precision_is_a_lever_where_the_second_stage_is_a_small_part():
    mask = but(R101, model="mask_rcnn_resnet101_fpn")
    for asked, precision in ((R101, Precision.FLOAT16), (mask, Precision.FLOAT32)):
        decision = planned(PlanRequest(asked, Policy(), LAW, Precision.FLOAT16), need(but(asked, micro_batch=1)) - 1)
        assert decision.plan.precision is precision


def test_a_smaller_backbone_keeps_the_image_size():
    policy = Policy(levers=(Lever.BACKBONE,))
    smaller = but(R101, model="faster_rcnn_resnet50_fpn")
    decision = planned(PlanRequest(R101, policy, LAW), need(smaller))
    assert decision.plan == smaller
    assert "from resnet101_fpn to resnet50_fpn" in decision.changes[0].reason


def test_a_backbone_below_the_floor_is_never_taken():
    policy = Policy(levers=(Lever.BACKBONE,), min_backbone="resnet101")
    assert isinstance(first_plan(PlanRequest(R101, policy, LAW), 2 * GB), GiveUp)


def test_without_accumulation_a_smaller_batch_sees_the_same_images():
    policy = Policy(levers=(Lever.BATCH_SIZE,))
    decision = planned(PlanRequest(D0, policy, LAW), need(but(D0, batch_size=4, micro_batch=4)))
    plan = decision.plan
    assert (plan.batch_size, plan.micro_batch, plan.steps) == (4, 4, 4000)
    assert plan.learning_rate == pytest.approx(0.0025)
    assert {change.field for change in decision.changes} == {"batch_size", "micro_batch", "steps", "learning_rate"}
    assert {change.lever for change in decision.changes} == {"batch_size"}


def test_a_change_has_what_why_and_cost_as_parts():
    decision = planned(
        PlanRequest(D0, Policy(levers=(Lever.BATCH_SIZE,)), LAW), need(but(D0, batch_size=4, micro_batch=4))
    )
    change = next(change for change in decision.changes if change.field == "batch_size")
    assert change.what == "the batch size changes from 16 to 4"
    assert change.cost == "noisier updates, and more of them"
    assert change.reason == f"{change.what}: {change.why}; cost: {change.cost}"


def test_pieces_that_would_need_more_than_the_whole_are_not_made():
    """One image costs less than the sums of gradients that accumulation needs."""
    asked = but(R101, batch_size=2, micro_batch=2, image_size=(256, 256))
    assert need(but(asked, micro_batch=1)) > need(asked)
    levers = {step.lever for step in ladder(PlanRequest(asked, Policy(levers=(Lever.MICRO_BATCH,)), LAW), [])}
    assert levers == {None}


def test_without_levers_a_plan_that_does_not_fit_is_given_up():
    answer = first_plan(PlanRequest(D0, Policy(levers=()), LAW), GB)
    assert isinstance(answer, GiveUp)
    assert f"needs about {in_mb(LAW.predict(D0).bytes)} " in answer.reason
    assert "the policy allows no changes" in answer.reason
    assert "does not allow micro_batch, precision, image_size, backbone, batch_size" in answer.reason


def test_giving_up_names_every_floor_and_the_memory_needed():
    policy = Policy(
        levers=(Lever.MICRO_BATCH, Lever.IMAGE_SIZE, Lever.BACKBONE), min_image_size=512, min_backbone="resnet50"
    )
    answer = first_plan(PlanRequest(R101, policy, LAW), GB // 2)
    assert isinstance(answer, GiveUp)
    assert "even at your minimums (micro-batch 1, image 512×512, backbone resnet50_fpn)" in answer.reason
    assert "the largest device has 512 MB" in answer.reason
    assert "does not allow precision, proposals, batch_size" in answer.reason


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([], "from the catalogue (no efficientdet_d0 measured here yet)"),
        (
            [Point.of(D0, 20 * GB, complete=False)],
            "from the catalogue, raised because less has already run out of memory",
        ),
        ([Point.of(D0, 12 * GB)], "scaled from one measurement of efficientdet_d0 here"),
        ([Point.of(D0, 12 * GB), Point.of(but(D0, micro_batch=2), 2 * GB)], "from 2 measurements of efficientdet_d0"),
    ],
)
def test_every_decision_states_the_basis_of_its_prediction(points, said):
    law = MemoryLaw(points)
    assert said in planned(PlanRequest(D0, Policy(), law), 4 * GB).summary
    assert said in planned(PlanRequest(D0, Policy(), law), 64 * GB).summary
    assert said in planned(PlanRequest(D0, Policy(plan_ahead=False), law), 64 * GB).summary
    answer = first_plan(PlanRequest(D0, Policy(levers=()), law), 1)
    assert isinstance(answer, GiveUp)
    assert said in answer.reason


COSTS = {
    "micro_batch": "batch normalisation sees 1 image at a time",
    "precision": "activations are rounded",
    "proposals": "objects in crowded images may be missed",
    "image_size": "small objects get harder to find",
    "backbone": "a smaller network, usually less accurate, and the weights learnt so far are lost",
    "batch_size": "noisier updates, and more of them",
}


def test_the_cost_of_float16_includes_skipped_updates():
    request = PlanRequest(D0, Policy(levers=(Lever.PRECISION,)), LAW, Precision.FLOAT16)
    decision = planned(request, need(but(D0, precision=Precision.FLOAT16)))
    assert "activations are kept in float16, weights stay in float32" in decision.changes[0].reason
    assert "updates that overflow are skipped" in decision.changes[0].reason


@pytest.mark.parametrize("lever", Lever)
def test_every_lever_states_its_cost(lever):
    asked = D0 if lever is Lever.PRECISION else R101
    rungs = ladder(PlanRequest(asked, Policy(levers=(lever,)), LAW, Precision.BFLOAT16), [])
    assert len(rungs) > 1
    decision = planned(PlanRequest(asked, Policy(levers=(lever,)), LAW, Precision.BFLOAT16), rungs[-1].prediction.high)
    assert COSTS[lever] in decision.summary
    assert any(COSTS[lever] in change.reason for change in decision.changes)
    assert COSTS[lever] in rungs[-1].sentence
    assert "costs" not in rungs[0].sentence
