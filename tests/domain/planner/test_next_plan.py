"""The plan after a failure: smaller than what failed, and when the planner gives up."""

from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.policy import Lever, Policy
from services.domain.planner.decision import Decision, GiveUp
from services.domain.planner.first_plan import first_plan
from services.domain.planner.next_plan import next_plan
from services.domain.planner.request import Failure, PlanRequest
from tests.support.plans import D0, GB, LAW, R101, but, need


def fails(plan, limit, attempt=1):
    return [Failure(plan, limit, attempt)]


def planned(request: PlanRequest, capacity: int, failures: list[Failure]) -> Decision:
    """The plan after one attempt, where there is one."""
    answer = next_plan(request, capacity, failures, 1)
    assert isinstance(answer, Decision)
    return answer


def test_a_smallest_plan_that_may_fit_is_tried_once():
    policy = Policy(levers=(Lever.MICRO_BATCH,))
    smallest = but(D0, micro_batch=1)
    capacity = LAW.predict(smallest).bytes
    decision = first_plan(PlanRequest(D0, policy, LAW), capacity)
    assert isinstance(decision, Decision)
    assert decision.plan == smallest
    assert "though it may take" in decision.summary
    assert isinstance(next_plan(PlanRequest(D0, policy, LAW), capacity, fails(smallest, capacity), 1), GiveUp)


def test_attempts_are_counted():
    answer = next_plan(PlanRequest(D0, Policy(max_attempts=2), LAW), 8 * GB, fails(D0, 8 * GB, attempt=2), 2)
    assert isinstance(answer, GiveUp)
    assert answer.reason.startswith("All 2 attempts that the policy allows are used. Attempt 2 needed more than 8192 ")


def test_the_next_plan_fits_and_states_the_failure():
    decision = planned(PlanRequest(D0, Policy(), LAW), 4 * GB, fails(D0, 4 * GB))
    assert decision.plan == but(D0, micro_batch=4)
    assert "; attempt 1 needed more than 4096 MB; cost: " in decision.changes[0].reason
    assert decision.summary.startswith("Micro-batch 4: predicted ")
    assert "cost: steps take longer" in decision.summary


def test_an_unexpected_failure_corrects_the_law():
    """It was predicted to fit in 4 GB and did not, so all plans need more than predicted."""
    current = but(D0, micro_batch=4)
    assert need(current) <= 4 * GB
    decision = planned(PlanRequest(D0, Policy(), LAW), 4 * GB, fails(current, 4 * GB))
    assert decision.plan == but(D0, micro_batch=2)
    assert decision.prediction.bytes > LAW.predict(decision.plan).bytes


def test_a_measured_failure_skips_plans_that_would_fail_again():
    """Twice what the catalogue says: halving once would fail again."""
    point = Point.of(D0, 2 * LAW.predict(D0).bytes, complete=False)
    decision = planned(PlanRequest(D0, Policy(), MemoryLaw([point])), 4 * GB, fails(D0, 4 * GB))
    assert decision.plan == but(D0, micro_batch=2)


def test_the_same_plan_continues_on_a_larger_device():
    decision = planned(PlanRequest(D0, Policy(), LAW), 64 * GB, fails(D0, 4 * GB))
    assert (decision.plan, decision.changes) == (D0, ())


def test_a_backbone_that_was_given_up_does_not_come_back():
    current = but(R101, model="faster_rcnn_resnet50_fpn")
    decision = planned(PlanRequest(R101, Policy(), LAW), 64 * GB, fails(current, 2 * GB))
    assert decision.plan == current


def test_an_evaluation_that_ran_out_leads_to_fewer_proposals():
    asked = but(R101, model="faster_rcnn_resnet50_fpn", batch_size=1, micro_batch=1, image_size=(256, 256))
    failure = Failure(asked, GB, attempt=1, evaluating=True)
    decision = planned(PlanRequest(asked, Policy(), LAW), GB, [failure])
    assert decision.plan.proposals is not None
    assert decision.plan.proposals < 300
    assert decision.plan.image_size == (256, 256)
