"""Remedies that a job keeps beside its plan. They change neither the model nor its schedule."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from services.domain.plan.input_sizes import InputSizes

__all__ = ["LEAST_BOXES", "NONE", "Adjustments", "bounded", "fewer_boxes", "smaller_input"]

LEAST_BOXES = 10  # with fewer, the model would learn from incomplete images
_LEAST_SHUFFLE = 32  # records; with fewer, batches would follow the order of the files
_SHUFFLE_STEP, _READERS_STEP, _CALLS_STEP = 8, 4, 4  # divisors; the largest buffer is at its floor after three


@dataclass(frozen=True)
class Adjustments:
    """Numbers are upper bounds on what a configuration would have; None bounds nothing."""

    async_allocator: bool = False  # GPU: cuda_malloc_async, against fragmentation
    shuffle_buffer_size: int | None = None  # this and the next three bound host memory
    num_readers: int | None = None
    batches: int | None = None  # at once: of num_parallel_batches and of num_prefetch_batches
    parallel_calls: int | None = None  # images decoded at once
    max_number_of_boxes: int | None = None  # of an image; the rest is left out

    def to_dict(self) -> dict[str, Any]:
        """Only what is set, for JSON."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, False)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> Self:
        return cls(**(values or {}))


NONE = Adjustments()


def bounded(sizes: InputSizes, adjustments: Adjustments) -> InputSizes:
    """`sizes`, each at most its bound."""
    return dataclasses.replace(
        sizes,
        shuffle_buffer_size=_at_most(sizes.shuffle_buffer_size, adjustments.shuffle_buffer_size),
        num_readers=_at_most(sizes.num_readers, adjustments.num_readers),
        num_parallel_batches=_at_most(sizes.num_parallel_batches, adjustments.batches),
        num_prefetch_batches=_at_most(sizes.num_prefetch_batches, adjustments.batches),
        num_parallel_map_calls=_lower(sizes.num_parallel_map_calls, adjustments.parallel_calls),
        max_number_of_boxes=_lower(sizes.max_number_of_boxes, adjustments.max_number_of_boxes),
    )


def smaller_input(sizes: InputSizes, adjustments: Adjustments) -> Adjustments | None:
    """Bounds that make an input pipeline of `sizes` take less host memory; None where it is already at its floor."""
    smaller = dataclasses.replace(
        adjustments,
        shuffle_buffer_size=_at_most(
            sizes.shuffle_buffer_size, max(_LEAST_SHUFFLE, sizes.shuffle_buffer_size // _SHUFFLE_STEP)
        ),
        num_readers=max(1, sizes.num_readers // _READERS_STEP),
        batches=1,
        parallel_calls=_fewer(sizes.num_parallel_map_calls),
    )
    return None if bounded(sizes, smaller) == sizes else smaller


def fewer_boxes(sizes: InputSizes, adjustments: Adjustments) -> Adjustments | None:
    """A bound of half the boxes per image; None where there are too few to halve."""
    boxes = sizes.max_number_of_boxes
    if boxes is None or boxes <= LEAST_BOXES:
        return None
    return dataclasses.replace(adjustments, max_number_of_boxes=max(LEAST_BOXES, boxes // 2))


def _fewer(calls: int | None) -> int | None:
    return None if calls is None else max(1, calls // _CALLS_STEP)


def _lower(value: int | None, bound: int | None) -> int | None:
    return bound if value is None else _at_most(value, bound)


def _at_most(value: int, bound: int | None) -> int:
    return value if bound is None else min(value, bound)
