"""A plan that was made smaller for one device, raised again for a larger one."""

from collections.abc import Sequence
from dataclasses import replace

from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever
from services.domain.planner.candidates import largest_piece
from services.domain.planner.decision import Decision, decide
from services.domain.planner.request import Failure, PlanRequest
from services.domain.planner.search import Search
from services.domain.precision import Precision
from services.domain.sizes import in_mb

__all__ = ["grown_plan"]

_STAY = (Lever.BACKBONE, Lever.BATCH_SIZE)


def grown_plan(
    request: PlanRequest, current: Plan, meant_for: int, capacity: int, failures: Sequence[Failure]
) -> Decision | None:
    """What `current`, planned for `meant_for` bytes, may grow to where `capacity` bytes are free; None: nothing more.

    Backbone and batch size stay, so that the weights and the schedule go on. The answer needs less than any plan that
    failed on a device of this capacity or more.
    """
    if capacity <= meant_for:
        return None
    asked, policy = request.asked, request.policy
    kept = tuple(lever for lever in policy.levers if lever not in _STAY)
    pieces = current.micro_batch
    if Lever.MICRO_BATCH in kept:
        pieces = largest_piece(current.batch_size, asked.micro_batch)
    whole = replace(
        current,
        micro_batch=pieces,
        precision=asked.precision,
        image_size=asked.image_size,
        proposals=asked.proposals,
        second_stage_batch=asked.second_stage_batch,
    )
    wider = replace(
        request,
        asked=whole,
        policy=replace(policy, levers=kept),
        half=request.half if current.precision is Precision.FLOAT32 else current.precision,
    )
    chosen = Search(wider.knowing(failures), capacity, failures).choose_before(current)
    if chosen is None:
        return None
    decision = decide(current, *chosen, capacity, f"it was reduced to fit {in_mb(meant_for)}")
    return replace(decision, summary=f"Raised again towards what was asked for. {decision.summary}")
