"""A plan whose two-byte precision was chosen for one device, as another device computes it."""

from dataclasses import replace

from services.domain.memory.law import MemoryLaw
from services.domain.plan.plan import Plan
from services.domain.planner.decision import Decision, decide
from services.domain.precision import Precision

__all__ = ["computed_on", "swapped"]


def computed_on(plan: Plan, asked: Plan, half: Precision | None) -> Plan:
    """`plan` in the precision of a device that is fast in `half`; in float32 where it is fast in none.

    On GPUs without bfloat16, its convolutions are slow or missing. A precision that was asked for stays.
    """
    return plan if plan.precision is asked.precision else replace(plan, precision=half or Precision.FLOAT32)


def swapped(plan: Plan, asked: Plan, half: Precision | None, law: MemoryLaw, capacity: int) -> Decision | None:
    """The decision for a job that is about to start on such a device; None where its plan can stay."""
    suited = computed_on(plan, asked, half)
    if suited == plan:
        return None
    return decide(plan, suited, law.predict(suited), capacity, f"the device is not fast in {plan.precision}")
