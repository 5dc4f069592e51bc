"""A Plan: the settings of one attempt that decide how much memory it needs and how long it trains."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from services.domain import catalogue
from services.domain.catalogue import Family, ImageSize
from services.domain.precision import Precision

_EVALUATIONS = 10
_LEAST_BETWEEN_EVALUATIONS = 200  # steps


class PlanError(ValueError):
    """A plan that contradicts itself or its model; the message names the field."""

    code = "bad_plan"


@dataclass(frozen=True)
class Plan:
    """batch_size = micro_batch x accumulation. Raises PlanError for settings that contradict each other or the model.

    `proposals` and `second_stage_batch` are for two-stage models only; None keeps the configuration's value.
    """

    model: str
    batch_size: int
    micro_batch: int
    precision: Precision
    image_size: ImageSize
    steps: int
    learning_rate: float
    proposals: int | None = None
    second_stage_batch: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", _precision(self.precision))
        object.__setattr__(self, "image_size", tuple(self.image_size))
        for name in ("batch_size", "micro_batch", "steps", "proposals", "second_stage_batch"):
            _need_count(name, getattr(self, name))
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise PlanError(f"learning_rate: must be above 0, got {self.learning_rate}")
        if self.batch_size % self.micro_batch:
            raise PlanError(f"micro_batch: must divide the batch of {self.batch_size}, got {self.micro_batch}")
        self._check_model()

    def _check_model(self) -> None:
        model = catalogue.get(self.model)
        problem = model.sizes.problem(self.image_size)
        if problem:
            raise PlanError(f"image_size: {problem}")
        second_stage = (self.proposals, self.second_stage_batch)
        if model.family is Family.EFFICIENTDET and second_stage != (None, None):
            raise PlanError(f"proposals: {self.model} has no second stage; leave proposals and second_stage_batch out")
        if None not in second_stage and self.second_stage_batch > self.proposals:  # type: ignore[operator]
            raise PlanError(
                f"second_stage_batch: at most the {self.proposals} proposals it samples from, "
                f"got {self.second_stage_batch}"
            )

    @property
    def accumulation(self) -> int:
        """Micro-batches whose gradients are summed for one update."""
        return self.batch_size // self.micro_batch

    def evaluate_every(self, evaluations: int | None) -> int:
        """Steps between `evaluations`, the last of which is at the end; 0: only at the end.

        None: ten, or fewer in a short training, where they would take much of its time.
        """
        if evaluations is None:
            evaluations = min(_EVALUATIONS, self.steps // _LEAST_BETWEEN_EVALUATIONS)
        return -(-self.steps // evaluations) if evaluations > 1 else 0

    def evaluations_before_end(self, evaluations: int | None) -> int:
        every = self.evaluate_every(evaluations)
        return (self.steps - 1) // every if every else 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `Plan(**values)` reads them back."""
        return dataclasses.asdict(self) | {"precision": str(self.precision), "image_size": list(self.image_size)}


def _precision(value: str) -> Precision:
    try:
        return Precision(value)
    except ValueError:
        raise PlanError(f"precision: one of {', '.join(Precision)}, got {value!r}") from None


def _need_count(name: str, value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise PlanError(f"{name}: must be a whole number of at least 1, got {value!r}")
