"""What the planner is asked: the job, the memory law, and the attempts that ran out of memory so far."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from services.domain.memory.law import MemoryLaw, Point
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Policy
from services.domain.precision import Precision

__all__ = ["Failure", "PlanRequest"]


@dataclass(frozen=True)
class Failure:
    """A plan that was too large for a device with this limit. A neighbour or a leak makes no Failure."""

    plan: Plan
    limit_bytes: int
    attempt: int  # its number in the job
    evaluating: bool = False  # training fitted, the evaluation between its steps did not

    @property
    def point(self) -> Point:
        """The measurement that a failure is: the plan needs more than the limit."""
        if self.evaluating:
            return Point.of(self.plan, 0, evaluation_bytes=self.limit_bytes, complete=False)
        return Point.of(self.plan, self.limit_bytes, complete=False)


@dataclass(frozen=True)
class PlanRequest:
    """What stays the same for all plans of a job on one kind of device.

    The planner does not read `Policy.prefer`. To wait, the caller passes the capacity of the largest device there is;
    to shrink, that of the device at hand.
    """

    asked: Plan
    policy: Policy
    law: MemoryLaw
    half: Precision | None = None  # what the device computes fast in two bytes: the value of the precision lever

    def knowing(self, failures: Iterable[Failure]) -> Self:
        """The same request with a law that allows for `failures`."""
        return replace(self, law=self.law.knowing(failure.point for failure in failures))
