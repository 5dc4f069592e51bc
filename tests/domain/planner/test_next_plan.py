"""The plan after a failure: smaller than what failed, and when the planner gives up."""

from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.policy import Policy
from services.domain.planner.decision import GiveUp
from services.domain.planner.first_plan import first_plan
from services.domain.planner.next_plan import next_plan
from services.domain.planner.request import Failure, PlanRequest
from tests.support.plans import D0, GB, LAW, R101, but, need


def fails(plan, limit, attempt=1):
    return [Failure(plan, limit, attempt)]


def test_what_may_fit_is_tried_once_and_says_that_it_may_not():
    policy = Policy(levers=("micro_batch",))
    smallest = but(D0, micro_batch=1)
    capacity = LAW.predict(smallest).bytes
    decision = first_plan(PlanRequest(D0, policy, LAW), capacity)
    assert decision.plan == smallest
    assert "though it may take" in decision.summary
    assert isinstance(next_plan(PlanRequest(D0, policy, LAW), capacity, fails(smallest, capacity), 1), GiveUp)


def test_attempts_are_counted():
    answer = next_plan(PlanRequest(D0, Policy(max_attempts=2), LAW), 8 * GB, fails(D0, 8 * GB, attempt=2), 2)
    assert isinstance(answer, GiveUp)
    assert answer.reason.startswith("All 2 attempts that the policy allows are used. Attempt 2 needed more than 8192 ")


def test_after_running_out_the_next_plan_fits_and_says_why():
    decision = next_plan(PlanRequest(D0, Policy(), LAW), 4 * GB, fails(D0, 4 * GB), 1)
    assert decision.plan == but(D0, micro_batch=4)
    assert "; attempt 1 needed more than 4096 MB; cost: " in decision.changes[0].reason
    assert decision.summary.startswith("Micro-batch 4: predicted ")
    assert "cost: steps take longer" in decision.summary


def test_a_failure_that_the_law_did_not_expect_corrects_the_law():
    """It was predicted to fit in 4 GB and did not: everything is larger than thought, not just that plan."""
    current = but(D0, micro_batch=4)
    assert need(current) <= 4 * GB
    decision = next_plan(PlanRequest(D0, Policy(), LAW), 4 * GB, fails(current, 4 * GB), 1)
    assert decision.plan == but(D0, micro_batch=2)
    assert decision.prediction.bytes > LAW.predict(decision.plan).bytes


def test_a_measured_failure_is_enough_to_jump():
    """Twice what the catalogue says: halving once would fail again."""
    point = Point.of(D0, 2 * LAW.predict(D0).bytes, complete=False)
    decision = next_plan(PlanRequest(D0, Policy(), MemoryLaw([point])), 4 * GB, fails(D0, 4 * GB), 1)
    assert decision.plan == but(D0, micro_batch=2)


def test_the_same_plan_may_go_on_where_there_is_more_room_than_where_it_failed():
    decision = next_plan(PlanRequest(D0, Policy(), LAW), 64 * GB, fails(D0, 4 * GB), 1)
    assert (decision.plan, decision.changes) == (D0, ())


def test_a_backbone_that_was_given_up_does_not_come_back():
    current = but(R101, model="faster_rcnn_resnet50_fpn")
    decision = next_plan(PlanRequest(R101, Policy(), LAW), 64 * GB, fails(current, 2 * GB), 1)
    assert decision.plan == current


def test_an_evaluation_that_ran_out_is_met_with_fewer_proposals():
    asked = but(R101, model="faster_rcnn_resnet50_fpn", batch_size=1, micro_batch=1, image_size=(256, 256))
    failure = Failure(asked, GB, attempt=1, evaluating=True)
    decision = next_plan(PlanRequest(asked, Policy(), LAW), GB, [failure], 1)
    assert decision.plan.proposals < 300
    assert decision.plan.image_size == (256, 256)
