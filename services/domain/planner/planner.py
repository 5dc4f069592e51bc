"""The planner: the largest configuration that fits, before the first attempt and after one that ran out.

Pure: takes what was asked for, the policy, the memory law and a capacity in bytes, and returns a Decision or a GiveUp.
`Policy.prefer` is the caller's business: whoever would rather wait passes the capacity of the largest device there is,
whoever would rather shrink that of the device at hand.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from services.domain.memory.law import MemoryLaw, Point, Prediction, Source
from services.domain.plan import changes as plan_changes
from services.domain.plan import levers
from services.domain.plan.changes import Change
from services.domain.plan.levers import Candidate
from services.domain.plan.plan import Plan, Precision
from services.domain.plan.policy import Lever, Policy
from services.domain.sizes import in_mb

__all__ = ["Change", "Decision", "Failure", "GiveUp", "Step", "first_plan", "grown_plan", "ladder", "next_plan"]

_WORTH_SHOWING = 0.05  # of the memory; levers that save less make a ladder long and tell people nothing


@dataclass(frozen=True)
class Failure:
    """A plan that was too large for a device with this limit. Not for those that a neighbour or a leak ended.

    `evaluating`: training fitted, the evaluation between its steps did not.
    """

    plan: Plan
    limit_bytes: int
    evaluating: bool = False

    @property
    def point(self) -> Point:
        """What a failure alone tells of memory: it needed more than the limit."""
        if self.evaluating:
            return Point.of(self.plan, 0, evaluation_bytes=self.limit_bytes, complete=False)
        return Point.of(self.plan, self.limit_bytes, complete=False)


@dataclass(frozen=True)
class Decision:
    """`changes` are relative to the plan before this one; none where it is kept."""

    plan: Plan
    prediction: Prediction
    changes: tuple[Change, ...]
    summary: str


@dataclass(frozen=True)
class GiveUp:
    reason: str


@dataclass(frozen=True)
class Step:
    """A rung of the ladder: what the planner would choose when the rung before does not fit.

    `lever` is the last one, in the policy's order, that moved since the rung before; None for what was asked for.
    `fits` has an answer for each capacity.
    """

    plan: Plan
    prediction: Prediction
    fits: tuple[bool, ...]
    lever: Lever | None
    sentence: str
    cost: str | None  # compared with what was asked for


def first_plan(
    asked: Plan, policy: Policy, law: MemoryLaw, capacity: int | None, *, bfloat16: bool = False
) -> Decision | GiveUp:
    """The plan of the first attempt. As asked where the policy does not plan ahead or no capacity is known.

    `bfloat16`: the device computes it well, so the precision lever may be pulled.
    """
    prediction = law.predict(asked)
    if capacity is None or not policy.plan_ahead:
        said = f"Starts as asked; predicted to need {in_mb(prediction.bytes)}, {_basis(asked, prediction)}."
        return Decision(asked, prediction, (), said)
    search = _Search(asked, policy, law, capacity, bfloat16=bfloat16)
    chosen = search.choose()
    if chosen is None:
        return search.give_up()
    return _decide(asked, *chosen, capacity, f"as asked it would need about {in_mb(prediction.bytes)}")


def next_plan(
    asked: Plan,
    current: Plan,
    policy: Policy,
    law: MemoryLaw,
    capacity: int,
    failures: Sequence[Failure],
    attempts_used: int,
    *,
    number: int | None = None,
    bfloat16: bool = False,
) -> Decision | GiveUp:
    """The plan after the last of `failures`, which ran under `current` as attempt `number` of the job.

    `attempts_used` are those that count against the policy; `number` is the same where it is not given.
    It is predicted to need less than any that failed on a device of this capacity or more, so none comes twice. On a
    larger device than it failed on, `current` itself may be the answer, with no changes. A backbone that was given up
    does not come back: its weights are gone.
    """
    law = law.knowing(failure.point for failure in failures)
    search = _Search(asked, policy, law, capacity, failures, current.model, bfloat16=bfloat16)
    ran_out = ""
    if failures:
        ran_out = f"attempt {number or attempts_used} needed more than {in_mb(failures[-1].limit_bytes)}"
    if attempts_used >= policy.max_attempts:
        return search.give_up(f"all {policy.max_attempts} attempts that the policy allows are used", ran_out)
    chosen = search.choose()
    if chosen is None:
        return search.give_up(ran_out)
    return _decide(current, *chosen, capacity, ran_out)


def grown_plan(
    asked: Plan,
    current: Plan,
    policy: Policy,
    law: MemoryLaw,
    capacity: int,
    failures: Sequence[Failure],
    *,
    meant_for: int,
    bfloat16: bool = False,
) -> Decision | None:
    """What `current`, a plan that is meant for a device of `meant_for` bytes, may grow back to where there is more.

    None where nothing is gained. Backbone and batch stay: the weights of the one and the schedule of the other go on.
    What failed on a device of this capacity or more is not gone back to.
    """
    if capacity <= meant_for:
        return None
    kept = tuple(lever for lever in policy.levers if lever not in (Lever.BACKBONE, Lever.BATCH_SIZE))
    whole = replace(
        current,
        micro_batch=levers.largest_piece(current.batch_size, asked.micro_batch),
        precision=asked.precision,
        image_size=asked.image_size,
        proposals=asked.proposals,
        second_stage_batch=asked.second_stage_batch,
    )
    if Lever.MICRO_BATCH not in kept:
        whole = replace(whole, micro_batch=current.micro_batch)
    law = law.knowing(failure.point for failure in failures)
    bfloat16 = bfloat16 or current.precision is Precision.BFLOAT16
    search = _Search(whole, replace(policy, levers=kept), law, capacity, failures, bfloat16=bfloat16)
    chosen = search.choose_before(current)
    if chosen is None:
        return None
    decision = _decide(current, *chosen, capacity, f"it was reduced to fit {in_mb(meant_for)}")
    return replace(decision, summary=f"Raised again towards what was asked for. {decision.summary}")


def ladder(
    asked: Plan,
    policy: Policy,
    law: MemoryLaw,
    capacities: Sequence[int],
    *,
    bfloat16: bool = False,
    below: Plan | None = None,
    most: int | None = None,
) -> list[Step]:
    """The plans that `first_plan` could choose, from what was asked for down to the floors; small steps left out.

    `below`: only those that need less than this one, which the job has come down to. `most`: so many.
    """
    return list(itertools.islice(_steps(asked, policy, law, capacities, bfloat16, below), most))


def _steps(
    asked: Plan, policy: Policy, law: MemoryLaw, capacities: Sequence[int], bfloat16: bool, below: Plan | None
) -> Iterator[Step]:
    candidates = levers.candidates(asked, policy, bfloat16=bfloat16, largest_model=below.model if below else None)
    before, shown = below, law.predict(below).high if below else None
    left_out = None
    for candidate, prediction in _rungs(candidates, law, shown):
        if shown is not None and prediction.high > shown * (1 - _WORTH_SHOWING):
            left_out = candidate, prediction
            continue
        plan = candidate.plan(asked)
        yield _step(asked, before, plan, prediction, policy, capacities)
        before, shown, left_out = plan, prediction.high, None
    if left_out is not None:  # the floor is worth knowing
        candidate, prediction = left_out
        yield _step(asked, before, candidate.plan(asked), prediction, policy, capacities)


def _step(
    asked: Plan, before: Plan | None, plan: Plan, prediction: Prediction, policy: Policy, capacities: Sequence[int]
) -> Step:
    moved = plan_changes.pulled(before, plan) if before else []
    lever = next((lever for lever in reversed(policy.levers) if lever in moved), None)
    fits = tuple(prediction.high <= capacity for capacity in capacities)
    cost = plan_changes.costs(asked, plan)
    return Step(plan, prediction, fits, lever, _sentence(asked, plan, prediction, cost), cost or None)


def _rungs(
    candidates: Iterable[Candidate], law: MemoryLaw, lowest: int | None
) -> Iterator[tuple[Candidate, Prediction]]:
    """Those that fit where none before them does, and nothing that needs `lowest`."""
    for candidate in candidates:
        prediction = law.predict(candidate)
        if lowest is None or prediction.high < lowest:
            lowest = prediction.high
            yield candidate, prediction


def _sentence(asked: Plan, plan: Plan, prediction: Prediction, cost: str) -> str:
    words = plan_changes.describe(asked, plan)
    said = f"{words[0].upper()}{words[1:]}: about {in_mb(prediction.bytes)}, at most {in_mb(prediction.high)}"
    return f"{plan_changes.with_cost(said, cost)}."


def _basis(plan: Plan, prediction: Prediction) -> str:
    """What a prediction for `plan` was made from, as a clause."""
    if prediction.points:
        several = f"{prediction.points} measurements" if prediction.points > 1 else "one measurement"
        scaled = "scaled from" if prediction.source is Source.SCALED else "from"
        return f"{scaled} {several} of {plan.model} here"
    if prediction.source is Source.CATALOGUE:
        return f"from the catalogue (no {plan.model} measured here yet)"
    return "from the catalogue, raised because less has already run out of memory"


def _decide(before: Plan, plan: Plan, prediction: Prediction, capacity: int, cause: str) -> Decision:
    """`cause` says why `before` would not do."""
    room = f"predicted {in_mb(prediction.bytes)} of {in_mb(capacity)}"
    if prediction.high > capacity:
        room += f", though it may take {in_mb(prediction.high)}"
    room += f", {_basis(plan, prediction)}"
    why = f"{room}; {cause}" if cause else room
    changes = plan_changes.changes(before, plan, why)
    if not changes:
        return Decision(plan, prediction, (), f"Kept as it is: {room}.")
    words = plan_changes.describe(before, plan)
    said = plan_changes.with_cost(f"{words[0].upper()}{words[1:]}: {why}", plan_changes.costs(before, plan))
    return Decision(plan, prediction, changes, f"{said}.")


class _Search:
    """The candidates of one decision, in order, and what the law says of each."""

    def __init__(
        self,
        asked: Plan,
        policy: Policy,
        law: MemoryLaw,
        capacity: int,
        failures: Iterable[Failure] = (),
        largest_model: str | None = None,
        *,
        bfloat16: bool,
    ) -> None:
        self._asked = asked
        self._policy = policy
        self._capacity = capacity
        candidates = levers.candidates(asked, policy, bfloat16=bfloat16, largest_model=largest_model)
        self._predicted = ((candidate, law.predict(candidate)) for candidate in candidates)
        self._smallest = next(self._predicted)
        failed = [law.predict(failure.plan).bytes for failure in failures if failure.limit_bytes >= capacity]
        self._must_be_below = min(failed, default=None)

    def choose(self) -> tuple[Plan, Prediction] | None:
        """The first that fits; else the smallest, where it is not known to fail; else None."""
        for candidate, prediction in itertools.chain([self._smallest], self._predicted):
            if prediction.bytes < self._smallest[1].bytes:
                self._smallest = candidate, prediction
            if self._is_open(prediction) and prediction.high <= self._capacity:
                return candidate.plan(self._asked), prediction
        candidate, prediction = self._smallest
        if self._is_open(prediction) and prediction.low <= self._capacity:
            return candidate.plan(self._asked), prediction
        return None

    def choose_before(self, current: Plan) -> tuple[Plan, Prediction] | None:
        """The first that fits of those that are less pulled than `current`."""
        first = None
        for candidate, prediction in itertools.chain([self._smallest], self._predicted):
            plan = candidate.plan(self._asked)
            if plan == current:
                return first
            if first is None and self._is_open(prediction) and prediction.high <= self._capacity:
                first = plan, prediction
        return None

    def give_up(self, *causes: str) -> GiveUp:
        rest = itertools.chain([self._smallest], self._predicted)
        candidate, prediction = min(rest, key=lambda pair: pair[1].bytes)
        plan = candidate.plan(self._asked)
        needs = f"it needs about {in_mb(prediction.bytes)} {self._floors(plan)}, {_basis(plan, prediction)}"
        sentences = [*causes, f"{needs}; the largest device has {in_mb(self._capacity)}", self._forbidden()]
        reason = " ".join(f"{words[0].upper()}{words[1:]}." for words in sentences if words)
        return GiveUp(reason)

    def _is_open(self, prediction: Prediction) -> bool:
        return self._must_be_below is None or prediction.bytes < self._must_be_below

    def _floors(self, plan: Plan) -> str:
        words = plan_changes.settings(plan)
        named = [words[lever] for lever in self._policy.levers if self._has_floor(lever)]
        return f"even at your minimums ({', '.join(named)})" if named else "(the policy allows no changes)"

    def _has_floor(self, lever: Lever) -> bool:
        return not (lever is Lever.PROPOSALS and self._asked.proposals is None)

    def _forbidden(self) -> str:
        barred = [str(lever) for lever in Lever if lever not in self._policy.levers and self._has_floor(lever)]
        return f"the policy does not allow {', '.join(barred)}" if barred else ""
