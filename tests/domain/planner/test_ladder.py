"""The ladder: what would follow, from what was asked for down to the floors."""

from services.domain.plan.policy import Lever, Policy
from services.domain.planner.decision import Decision
from services.domain.planner.first_plan import first_plan
from services.domain.planner.ladder import ladder
from services.domain.planner.request import PlanRequest
from tests.support.plans import D0, GB, LAW, R101, but

IMAGES_ONLY = Policy(levers=(Lever.MICRO_BATCH, Lever.IMAGE_SIZE))


def test_the_ladder_descends_from_the_asked_plan_and_says_which_devices_fit():
    steps = ladder(PlanRequest(R101, Policy(), LAW), [2 * GB, 64 * GB])
    assert steps[0].plan == R101
    assert steps[0].lever is None
    assert steps[0].sentence.startswith("As asked: about ")
    assert steps[1].lever == Lever.MICRO_BATCH
    highs = [step.prediction.high for step in steps]
    assert highs == sorted(highs, reverse=True)
    assert all(step.fits == (step.prediction.high <= 2 * GB, True) for step in steps)


def test_each_rung_is_the_first_plan_for_its_own_memory():
    for step in ladder(PlanRequest(R101, Policy(), LAW), []):
        decision = first_plan(PlanRequest(R101, Policy(), LAW), step.prediction.high)
        assert isinstance(decision, Decision)
        assert decision.plan == step.plan


def test_the_last_rung_is_the_floor():
    steps = ladder(PlanRequest(D0, IMAGES_ONLY, LAW), [])
    assert steps[-1].plan == but(D0, micro_batch=1, image_size=(256, 256))


def test_proposals_and_the_sample_of_them_shrink_together_in_bounds():
    policy = Policy(levers=(Lever.PROPOSALS,))
    rungs = [(step.plan.proposals, step.plan.second_stage_batch) for step in ladder(PlanRequest(R101, policy, LAW), [])]
    assert rungs[0] == (300, 64)
    assert rungs[-1] == (64, 32)


def test_without_the_lever_another_batch_does_not_accumulate_more():
    """15 images in pieces of 5 are 3 pieces; 7 is prime, and would be 7 pieces."""
    asked = but(D0, batch_size=15, micro_batch=5)
    steps = ladder(PlanRequest(asked, Policy(levers=(Lever.BATCH_SIZE,)), LAW), [])
    assert [(step.plan.batch_size, step.plan.micro_batch) for step in steps] == [(15, 5), (3, 3), (1, 1)]
    assert steps[1].sentence.startswith("Batch 3: about ")


def test_a_batch_floor_between_two_halves_is_reached():
    policy = Policy(levers=(Lever.BATCH_SIZE,), min_batch_size=3)
    assert [step.plan.batch_size for step in ladder(PlanRequest(D0, policy, LAW), [])] == [16, 8, 4, 3]


def test_the_batch_is_not_cut_where_that_saves_nothing():
    asked = but(D0, micro_batch=1)
    batches = {step.plan.batch_size for step in ladder(PlanRequest(asked, Policy(levers=(Lever.BATCH_SIZE,)), LAW), [])}
    assert batches == {16, 1}  # 1 needs no sums of gradients; those between need what 16 needs
