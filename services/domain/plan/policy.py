"""A Policy: how the owner lets a job be made smaller, in which order, and how far."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from services.domain import catalogue
from services.domain.catalogue import Model

MAX_ATTEMPTS = 20
_LARGEST_COUNT = 2**31 - 1  # what a pipeline.config can hold


class Lever(enum.StrEnum):
    """One way to need less memory. Their order is the default order of use: the least harm to the result first."""

    MICRO_BATCH = "micro_batch"
    PRECISION = "precision"
    PROPOSALS = "proposals"
    IMAGE_SIZE = "image_size"
    BACKBONE = "backbone"
    BATCH_SIZE = "batch_size"


class Prefer(enum.StrEnum):
    SHRINK = "shrink"  # make the job fit the device at hand
    WAIT = "wait"  # wait for a device that holds the job as it is


class PolicyError(ValueError):
    """A policy that cannot be followed; the message names the field, what is wrong and what to do."""

    code = "bad_policy"


@dataclass(frozen=True)
class Policy:
    """`levers` are used in their order, and no plan goes below a floor. Raises PolicyError for an illegal value.

    `min_batch_size` is the floor of the effective batch, `min_image_size` of the shorter side. `min_backbone` is a
    backbone ("resnet50", with or without FPN) or a model of the catalogue; `check` says whether the job's model can
    come down to it. Without `plan_ahead` the first attempt starts as it was asked for.
    """

    levers: tuple[Lever, ...] = tuple(Lever)
    min_batch_size: int = 1
    min_image_size: int = 256
    min_backbone: str | None = None
    max_attempts: int = 6
    prefer: Prefer = Prefer.SHRINK
    plan_ahead: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levers", _levers(self.levers))
        object.__setattr__(self, "prefer", _member("prefer", Prefer, self.prefer))
        _need_count("min_batch_size", self.min_batch_size, _LARGEST_COUNT)
        _need_count("min_image_size", self.min_image_size, _LARGEST_COUNT)
        _need_count("max_attempts", self.max_attempts, MAX_ATTEMPTS)
        if not isinstance(self.plan_ahead, bool):
            raise PolicyError(f"plan_ahead: must be true or false, got {self.plan_ahead!r}")
        self._check_backbone()

    def _check_backbone(self) -> None:
        if self.min_backbone is None:
            return
        names = sorted({name for model in catalogue.MODELS.values() for name in _names(model)})
        if self.min_backbone not in names:
            raise PolicyError(f"min_backbone: there is no {self.min_backbone!r}; choose one of {', '.join(names)}")

    def check(self, model: Model) -> None:
        """Raises PolicyError where `min_backbone` is neither the backbone of `model` nor a smaller one below it."""
        self.models(model)

    def models(self, model: Model) -> tuple[Model, ...]:
        """`model` and the smaller ones that the floor allows, largest first. Raises PolicyError as `check` does."""
        ladder = (model, *catalogue.smaller_models(model))
        if self.min_backbone is None:
            return ladder
        for count, rung in enumerate(ladder, start=1):
            if self.min_backbone in _names(rung):
                return ladder[:count]
        rungs = ", ".join(rung.backbone for rung in ladder)
        raise PolicyError(
            f"min_backbone: {self.min_backbone!r} is not among the backbones of {model.name} and below it ({rungs}); "
            "choose one of those, or leave min_backbone out"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `Policy.from_dict` reads them back."""
        return dataclasses.asdict(self) | {"levers": [str(lever) for lever in self.levers], "prefer": str(self.prefer)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Missing fields keep their defaults. Raises PolicyError for unknown fields."""
        fields = [f.name for f in dataclasses.fields(cls)]
        unknown = sorted(set(values) - set(fields))
        if unknown:
            raise PolicyError(f"{unknown[0]}: no such field; a policy has {', '.join(fields)}")
        return cls(**values)


def _names(model: Model) -> tuple[str, ...]:
    return model.name, model.backbone, model.backbone.removesuffix("_fpn")


def _levers(values: Sequence[str]) -> tuple[Lever, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise PolicyError(f"levers: must be a list of {', '.join(Lever)}, got {values!r}")
    levers = tuple(_member("levers", Lever, value) for value in values)
    for number, lever in enumerate(levers):
        if lever in levers[:number]:
            raise PolicyError(f"levers: {lever} is listed twice; name each lever once, in the order of use")
    return levers


def _member(name: str, kind: type[enum.StrEnum], value: Any) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise PolicyError(f"{name}: must be one of {', '.join(kind)}, got {value!r}") from None


def _need_count(name: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise PolicyError(f"{name}: must be a whole number from 1 to {most}, got {value!r}")
