"""Every configuration that a policy allows, from what was asked for to the floors, in the policy's order.

The order is lexicographic: a lever that the policy names later moves only after all positions of the earlier ones, and
when it has moved, the earlier ones start again from what was asked for.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from services.domain import catalogue
from services.domain.catalogue import Family, ImageSize
from services.domain.plan.learning_rate import rescaled_to_batch
from services.domain.plan.plan import Plan
from services.domain.plan.policy import Lever, Policy
from services.domain.precision import Precision

_PROPOSALS = (150, 100, 64)  # fewer lose objects in a crowded image
_SECOND_STAGE_FLOOR = 32
_LARGEST_PIECE = 256  # images; a batch of millions would otherwise have hundreds of divisors to try
# Families that were measured to need less in bfloat16; float16 has as many bytes. Most of a Mask R-CNN's memory is
# crops, which stay in float32.
_HALF_FAMILIES = (Family.EFFICIENTDET, Family.FASTER_RCNN)


class Candidate(NamedTuple):
    """The settings of a plan that decide its memory (a `memory.shape.Shape`). Cheap: a search makes thousands."""

    model: str
    batch_size: int
    micro_batch: int
    precision: Precision
    image_size: ImageSize
    proposals: int | None
    second_stage_batch: int | None

    @property
    def accumulation(self) -> int:
        return self.batch_size // self.micro_batch

    def plan(self, asked: Plan) -> Plan:
        """`asked` with these settings. Another batch size adapts the learning rate and the steps."""
        changed = replace(
            asked,
            model=self.model,
            precision=self.precision,
            image_size=self.image_size,
            proposals=self.proposals,
            second_stage_batch=self.second_stage_batch,
        )
        if self.batch_size != asked.batch_size:
            return rescaled_to_batch(changed, self.batch_size, self.micro_batch)
        return replace(changed, micro_batch=self.micro_batch)


def candidates(
    asked: Plan, policy: Policy, *, half: Precision | None, largest_model: str | None = None
) -> Iterator[Candidate]:
    """Every setting that `policy` allows, from `asked` down. Of settings that need the same memory, only the first.

    `half`: the two-byte format that the device computes fast. `largest_model`: larger backbones are left out, because
    the job has already given them up.
    """
    positions = positions_of(asked, policy, half=half, largest_model=largest_model)
    order = (*(lever for lever in Lever if lever not in policy.levers), *reversed(policy.levers))
    # Indices instead of a dict: thousands of look-ups by name would double the time of a search.
    micro_at, precision_at, proposals_at, size_at, model_at, batch_at = (order.index(lever) for lever in Lever)
    micro_batches = _micro_batches(asked, policy, positions, batch_first=batch_at > micro_at)
    for at in itertools.product(*(positions[lever] for lever in order)):
        micro_batch = micro_batches.get((at[batch_at], at[micro_at]))
        if micro_batch is not None:
            yield Candidate(at[model_at], at[batch_at], micro_batch, at[precision_at], at[size_at], *at[proposals_at])


def positions_of(
    asked: Plan, policy: Policy, *, half: Precision | None, largest_model: str | None = None
) -> dict[Lever, Sequence[Any]]:
    """The values of each lever from `asked` to its floor; one value where the policy or the model forbids the lever."""
    model = catalogue.get(asked.model)
    every = {
        Lever.MICRO_BATCH: (
            asked.micro_batch,
            *_divisors(asked.batch_size, min(asked.micro_batch - 1, _LARGEST_PIECE)),
        ),
        Lever.PRECISION: _precisions(asked, half),
        Lever.PROPOSALS: _second_stages(asked),
        Lever.IMAGE_SIZE: (
            asked.image_size,
            *(size for size in model.smaller_sizes(asked.image_size) if min(size) >= policy.min_image_size),
        ),
        Lever.BACKBONE: _from(largest_model, tuple(rung.name for rung in policy.models(model))),
        Lever.BATCH_SIZE: tuple(_batches(asked.batch_size, policy.min_batch_size)),
    }
    return {lever: values if lever in policy.levers else values[:1] for lever, values in every.items()}


def largest_piece(batch: int, most: int) -> int:
    """The largest micro-batch of at most `most` images that divides `batch`."""
    return _divisors(batch, most)[0]


def _divisors(batch: int, most: int) -> tuple[int, ...]:
    small = [number for number in range(1, math.isqrt(batch) + 1) if batch % number == 0]
    both = {*small, *(batch // number for number in small)}
    return tuple(sorted((number for number in both if number <= most), reverse=True))


def _precisions(asked: Plan, half: Precision | None) -> tuple[Precision, ...]:
    needs_less = asked.precision is Precision.FLOAT32 and catalogue.get(asked.model).family in _HALF_FAMILIES
    return (asked.precision, half) if half is not None and needs_less else (asked.precision,)


def _second_stages(asked: Plan) -> tuple[tuple[int | None, int | None], ...]:
    """(proposals, second_stage_batch). One pair only where the plan leaves a value to the configuration."""
    first = (asked.proposals, asked.second_stage_batch)
    if asked.proposals is None or asked.second_stage_batch is None:
        return (first,)
    most = asked.second_stage_batch
    fewer = (count for count in _PROPOSALS if count < asked.proposals)
    return (first, *((count, min(most, max(count // 2, _SECOND_STAGE_FLOOR))) for count in fewer))


def _from(first: str | None, ladder: tuple[str, ...]) -> tuple[str, ...]:
    return ladder[ladder.index(first) :] if first in ladder else ladder


def _batches(batch: int, floor: int) -> Iterator[int]:
    """`batch`, halved until the floor; the floor is the last."""
    yield batch
    while batch > floor:
        batch = max(batch // 2, floor)
        yield batch


def _micro_batches(
    asked: Plan, policy: Policy, positions: Mapping[Lever, Sequence[int]], *, batch_first: bool
) -> dict[tuple[int, int], int]:
    """The micro-batch for each pair of batch size and limit, without pairs that need as much memory as an earlier one.

    Where the policy forbids the micro-batch lever, no pair accumulates more than was asked for.
    """
    may_accumulate = Lever.MICRO_BATCH in policy.levers
    batches, limits = positions[Lever.BATCH_SIZE], positions[Lever.MICRO_BATCH]
    slow_batch = [(batch, limit) for batch in batches for limit in limits]
    slow_limit = [(batch, limit) for limit in limits for batch in batches]
    found: dict[tuple[int, int], int] = {}
    seen = set()
    for batch, limit in slow_limit if batch_first else slow_batch:
        micro_batch = largest_piece(batch, limit)
        if not may_accumulate and batch > micro_batch * asked.accumulation:
            continue
        memory = (micro_batch, batch > micro_batch)  # accumulation takes memory, whatever the number of pieces
        if memory not in seen:
            seen.add(memory)
            found[batch, limit] = micro_batch
    return found
