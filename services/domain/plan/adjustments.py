"""What travels with a job beside its plan: remedies that change neither the model nor what a step computes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from services.domain.plan.input_sizes import InputSizes

__all__ = ["LEAST_BOXES", "NONE", "Adjustments", "bounded", "fewer_boxes", "smaller_input"]

LEAST_BOXES = 10  # an image bounded to fewer would teach something else
_LEAST_SHUFFLE = 32  # records; below that the order of the files would show in the batches
_SHUFFLE_STEP, _READERS_STEP = 8, 4  # each time; the largest buffer is at its floor after three


@dataclass(frozen=True)
class Adjustments:
    """Numbers are upper bounds on what a configuration would have; None bounds nothing."""

    async_allocator: bool = False  # GPU: against fragments
    shuffle_buffer_size: int | None = None  # host memory, down to `batches`
    num_readers: int | None = None
    batches: int | None = None  # on their way at once, each of parallel and prefetched ones
    max_number_of_boxes: int | None = None  # of an image; more are left out

    def to_dict(self) -> dict[str, Any]:
        """What differs from none, as JSON keeps it."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value not in (None, False)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> Self:
        return cls(**(values or {}))


NONE = Adjustments()


def bounded(sizes: InputSizes, adjustments: Adjustments) -> InputSizes:
    """`sizes` within the bounds."""
    return dataclasses.replace(
        sizes,
        shuffle_buffer_size=_at_most(sizes.shuffle_buffer_size, adjustments.shuffle_buffer_size),
        num_readers=_at_most(sizes.num_readers, adjustments.num_readers),
        num_parallel_batches=_at_most(sizes.num_parallel_batches, adjustments.batches),
        num_prefetch_batches=_at_most(sizes.num_prefetch_batches, adjustments.batches),
        max_number_of_boxes=(
            adjustments.max_number_of_boxes
            if sizes.max_number_of_boxes is None
            else _at_most(sizes.max_number_of_boxes, adjustments.max_number_of_boxes)
        ),
    )


def smaller_input(sizes: InputSizes, adjustments: Adjustments) -> Adjustments | None:
    """Bounds under which an input pipeline that had `sizes` takes less host memory; None where it is at its floor."""
    smaller = dataclasses.replace(
        adjustments,
        shuffle_buffer_size=_at_most(
            sizes.shuffle_buffer_size, max(_LEAST_SHUFFLE, sizes.shuffle_buffer_size // _SHUFFLE_STEP)
        ),
        num_readers=max(1, sizes.num_readers // _READERS_STEP),
        batches=1,
    )
    return None if bounded(sizes, smaller) == sizes else smaller


def fewer_boxes(sizes: InputSizes, adjustments: Adjustments) -> Adjustments | None:
    """A bound of half the boxes of an image; None where there is nothing to halve."""
    boxes = sizes.max_number_of_boxes
    if boxes is None or boxes <= LEAST_BOXES:
        return None
    return dataclasses.replace(adjustments, max_number_of_boxes=max(LEAST_BOXES, boxes // 2))


def _at_most(value: int, bound: int | None) -> int:
    return value if bound is None else min(value, bound)
