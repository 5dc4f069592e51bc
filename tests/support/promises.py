"""Check that a chosen plan respects the request and the policy."""

import math

from services.domain import catalogue
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever, Policy


def assert_inside(plan: Plan, asked: Plan, policy: Policy) -> None:
    """No lower limit of the policy is broken, and only levers that the policy names were used."""
    moved = {
        Lever.PRECISION: plan.precision != asked.precision,
        Lever.PROPOSALS: (plan.proposals, plan.second_stage_batch) != (asked.proposals, asked.second_stage_batch),
        Lever.IMAGE_SIZE: plan.image_size != asked.image_size,
        Lever.BACKBONE: plan.model != asked.model,
        Lever.BATCH_SIZE: plan.batch_size != asked.batch_size,
        Lever.MICRO_BATCH: plan.micro_batch != asked.micro_batch and plan.batch_size == asked.batch_size,
    }
    assert {lever for lever, is_moved in moved.items() if is_moved} <= set(policy.levers)
    assert plan.batch_size >= min(policy.min_batch_size, asked.batch_size)
    assert plan.micro_batch <= asked.micro_batch
    assert min(plan.image_size) >= min(policy.min_image_size, *asked.image_size)
    assert plan.model in [rung.name for rung in policy.models(catalogue.get(asked.model))]
    images_seen, images_asked = plan.steps * plan.batch_size, asked.steps * asked.batch_size
    assert math.isclose(images_seen, images_asked, rel_tol=0.01)
