"""The learning rate and the length of a training at another batch size."""

import dataclasses

from services.domain.plan.plan import Plan, PlanError

__all__ = ["rescaled_to_batch"]


def rescaled_to_batch(plan: Plan, batch_size: int, micro_batch: int) -> Plan:
    """The same training at another batch size: learning rate in proportion, as many images seen (linear rule)."""
    if batch_size < 1:
        raise PlanError(f"batch_size: must be at least 1, got {batch_size}")
    factor = batch_size / plan.batch_size
    return dataclasses.replace(
        plan,
        batch_size=batch_size,
        micro_batch=micro_batch,
        steps=max(1, round(plan.steps / factor)),
        learning_rate=plan.learning_rate * factor,
    )
