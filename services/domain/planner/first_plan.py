"""The plan of a job's first attempt: the largest that fits."""

from services.domain.planner.decision import Decision, GiveUp, basis, decide
from services.domain.planner.request import PlanRequest
from services.domain.planner.search import Search
from services.domain.sizes import in_mb

__all__ = ["first_plan"]


def first_plan(request: PlanRequest, capacity: int | None) -> Decision | GiveUp:
    """What was asked for, or the first candidate that fits `capacity` bytes.

    As asked where the policy does not plan ahead, or where no device is known yet (None).
    """
    asked = request.asked
    prediction = request.law.predict(asked)
    if capacity is None or not request.policy.plan_ahead:
        said = f"Starts as asked; predicted to need {in_mb(prediction.bytes)}, {basis(asked, prediction)}."
        return Decision(asked, prediction, (), said)
    search = Search(request, capacity)
    chosen = search.choose()
    if chosen is None:
        return search.give_up()
    return decide(asked, *chosen, capacity, f"as asked it would need about {in_mb(prediction.bytes)}")
