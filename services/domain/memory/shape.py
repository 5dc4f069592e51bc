"""The settings of a plan that decide how much memory it needs. Plan, Candidate and Point have them."""

from typing import Protocol

from services.domain.catalogue import ImageSize
from services.domain.precision import Precision

__all__ = ["Shape"]


class Shape(Protocol):
    @property
    def model(self) -> str: ...
    @property
    def precision(self) -> Precision: ...
    @property
    def micro_batch(self) -> int: ...
    @property
    def accumulation(self) -> int: ...
    @property
    def image_size(self) -> ImageSize: ...
    @property
    def proposals(self) -> int | None: ...
    @property
    def second_stage_batch(self) -> int | None: ...
