"""The plan after an attempt that ran out of its device's memory."""

from collections.abc import Sequence

from services.domain.planner.decision import Decision, GiveUp, decide
from services.domain.planner.request import Failure, PlanRequest
from services.domain.planner.search import Search
from services.domain.sizes import in_mb

__all__ = ["next_plan"]


def next_plan(
    request: PlanRequest, capacity: int, failures: Sequence[Failure], attempts_used: int
) -> Decision | GiveUp:
    """The plan that follows the last of `failures`, which are all of the job's and at least one.

    `attempts_used` counts the attempts that the policy bounds. The plan is predicted to need less than any that failed
    on a device of this capacity or more, so no failure repeats. On a larger device than it failed on, the last plan
    itself may be the answer, without changes. A backbone that was given up does not come back: its weights are gone.
    """
    last, policy = failures[-1], request.policy
    search = Search(request.knowing(failures), capacity, failures, largest_model=last.plan.model)
    ran_out = f"attempt {last.attempt} needed more than {in_mb(last.limit_bytes)}"
    if attempts_used >= policy.max_attempts:
        return search.give_up(f"all {policy.max_attempts} attempts that the policy allows are used", ran_out)
    chosen = search.choose()
    if chosen is None:
        return search.give_up(ran_out)
    return decide(last.plan, *chosen, capacity, ran_out)
