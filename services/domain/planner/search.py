"""The search for one plan: the policy's candidates in order, and what the memory law predicts for each."""

import itertools
from collections.abc import Iterable, Iterator

from services.domain.memory.law import Prediction
from services.domain.plan import changes as plan_changes
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever
from services.domain.planner.candidates import Candidate, candidates
from services.domain.planner.decision import GiveUp, basis, capitalised
from services.domain.planner.request import Failure, PlanRequest
from services.domain.sizes import in_mb

__all__ = ["Search"]


class Search:
    """Use one of `choose` and `choose_before`, once; `give_up` after a `choose` that found nothing, or alone.

    Predictions are made one by one, so a search that ends early costs little.
    """

    def __init__(
        self,
        request: PlanRequest,
        capacity: int,
        failures: Iterable[Failure] = (),
        largest_model: str | None = None,
    ) -> None:
        self._request = request
        self._capacity = capacity
        law = request.law
        found = candidates(request.asked, request.policy, half=request.half, largest_model=largest_model)
        self._predicted = ((candidate, law.predict(candidate)) for candidate in found)
        self._smallest = next(self._predicted)
        failed = [law.predict(failure.plan).bytes for failure in failures if failure.limit_bytes >= capacity]
        self._must_be_below = min(failed, default=None)

    def choose(self) -> tuple[Plan, Prediction] | None:
        """The first candidate that fits; else the smallest, where it is not known to fail; else None."""
        for candidate, prediction in self._all():
            if prediction.bytes < self._smallest[1].bytes:
                self._smallest = candidate, prediction
            if self._fits(prediction):
                return candidate.plan(self._request.asked), prediction
        candidate, prediction = self._smallest
        if self._is_open(prediction) and prediction.low <= self._capacity:
            return candidate.plan(self._request.asked), prediction
        return None

    def choose_before(self, current: Plan) -> tuple[Plan, Prediction] | None:
        """The first candidate that fits, of those that come before `current`; None where `current` is none of them."""
        first = None
        for candidate, prediction in self._all():
            plan = candidate.plan(self._request.asked)
            if plan == current:
                return first
            if first is None and self._fits(prediction):
                first = plan, prediction
        return None

    def give_up(self, *causes: str) -> GiveUp:
        """Why nothing fits: the `causes`, the least that the job needs, and the levers that the policy forbids."""
        candidate, prediction = min(self._all(), key=lambda pair: pair[1].bytes)
        plan = candidate.plan(self._request.asked)
        needs = f"it needs about {in_mb(prediction.bytes)} {self._floors(plan)}, {basis(plan, prediction)}"
        sentences = [*causes, f"{needs}; the largest device has {in_mb(self._capacity)}", self._forbidden()]
        return GiveUp(" ".join(f"{capitalised(words)}." for words in sentences if words))

    def _all(self) -> Iterator[tuple[Candidate, Prediction]]:
        return itertools.chain([self._smallest], self._predicted)

    def _fits(self, prediction: Prediction) -> bool:
        return self._is_open(prediction) and prediction.high <= self._capacity

    def _is_open(self, prediction: Prediction) -> bool:
        """Whether it needs less than every plan that failed on a device of this capacity or more."""
        return self._must_be_below is None or prediction.bytes < self._must_be_below

    def _floors(self, plan: Plan) -> str:
        words = plan_changes.settings(plan)
        named = [words[lever] for lever in self._request.policy.levers if self._has_floor(lever)]
        return f"even at your minimums ({', '.join(named)})" if named else "(the policy allows no changes)"

    def _has_floor(self, lever: Lever) -> bool:
        return not (lever is Lever.PROPOSALS and self._request.asked.proposals is None)

    def _forbidden(self) -> str:
        levers = self._request.policy.levers
        barred = [str(lever) for lever in Lever if lever not in levers and self._has_floor(lever)]
        return f"the policy does not allow {', '.join(barred)}" if barred else ""
