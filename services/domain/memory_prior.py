"""What each model of the catalogue needs, before anybody has measured it where it will run.

    training   = fixed + sums + micro_batch x (pixel x height x width + box x second_stage_batch)
    evaluation = held + sums + evaluation_pixel x height x width + evaluation_box x proposals

`fixed` is the weights, the momentum and what a step needs whatever the images; `held` is what of it stays between
steps; `sums` is the copy of the weights that accumulation adds. Evaluation sees one image at a time. The figures are
those of `benchmarks/memory_points.py`; models that it did not run are extrapolated along their family, and say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from services.domain import catalogue
from services.domain.catalogue import Family, Model
from services.domain.plans import Precision

if TYPE_CHECKING:
    from services.domain.memory import Shape

_KB, _MB = 10**3, 10**6
_BFLOAT16 = 0.54  # of a float32 step's activations; weights, momentum and sums stay in float32
_SUMS = 1.5  # copies of the weights while gradients are accumulated: the sum, and part of what is added to it
_PROPOSALS, _SECOND_STAGE_BATCH = 300, 64  # where a plan leaves them open: what the catalogue's configurations have


@dataclass(frozen=True)
class Prior:
    """Bytes in float32. `pixel` and `box` are of one image; `measured`: on this very model."""

    weights: float
    fixed: float
    pixel: float
    box: float
    evaluation_pixel: float
    evaluation_box: float
    measured: bool

    @property
    def held(self) -> float:
        return 2 * self.weights + 30 * _MB


@dataclass(frozen=True)
class Need:
    """What a plan needs, in the parts that measurements correct one by one. Bytes."""

    fixed: float
    sums: float
    images: float
    evaluation: float


def of(model: str) -> Prior:
    """Raises UnknownModel."""
    return _PRIORS[catalogue.get(model).name]


def are_related(one: str, other: str) -> bool:
    """Of one family, and both with FPN or both without."""
    first, second = catalogue.get(one), catalogue.get(other)
    return (first.family, first.is_fpn) == (second.family, second.is_fpn)


def need(plan: "Shape") -> Need:
    """By the prior alone. Grows with the micro-batch, the pixels, the proposals and the second stage's batch."""
    prior = _PRIORS[plan.model]
    height, width = plan.image_size
    pixels = height * width
    accumulates = plan.accumulation > 1
    share = _BFLOAT16 if plan.precision is Precision.BFLOAT16 else 1.0
    image = prior.pixel * pixels + prior.box * (plan.second_stage_batch or _SECOND_STAGE_BATCH)
    one_by_one = prior.evaluation_pixel * pixels + prior.evaluation_box * (plan.proposals or _PROPOSALS)
    return Need(
        fixed=prior.fixed,
        sums=_SUMS * prior.weights if accumulates else 0.0,
        images=share * plan.micro_batch * image,
        evaluation=prior.held + (prior.weights if accumulates else 0.0) + one_by_one,
    )


#  EfficientDet: millions of weights, KB a pixel, measured
_EFFICIENTDETS = {
    "efficientdet_d0": (4.0, 2.85, True),
    "efficientdet_d1": (6.8, 4.05, True),
    "efficientdet_d2": (8.3, 4.9, True),
    "efficientdet_d3": (12.3, 7.5, False),
    "efficientdet_d4": (21.0, 11.0, True),
    "efficientdet_d5": (34.0, 16.0, False),
    "efficientdet_d6": (52.0, 23.0, False),
    "efficientdet_d7": (52.0, 23.0, False),
}

#  Two-stage backbone: millions of weights, KB a pixel, Faster R-CNN measured, Mask R-CNN measured
_BACKBONES = {
    "resnet50": (28.3, 2.0, True, True),
    "resnet101": (47.3, 2.9, False, False),
    "resnet152": (63.0, 3.9, False, False),
    "resnet50_fpn": (42.0, 2.9, True, True),
    "resnet101_fpn": (61.0, 3.8, True, False),
    "resnet152_fpn": (76.6, 4.8, False, False),
    "inception_resnet_v2": (60.0, 6.0, True, False),
}


def _efficientdet(model: Model) -> Prior:
    millions, pixel, measured = _EFFICIENTDETS[model.name]
    weights = millions * 4 * _MB
    fixed = 2 * weights + 75 * _MB
    return Prior(weights, fixed, pixel * _KB, 0.0, 0.1 * pixel * _KB, 0.0, measured)


def _two_stage(model: Model) -> Prior:
    millions, pixel, faster_measured, mask_measured = _BACKBONES[model.backbone]
    weights = millions * 4 * _MB
    box = 1.75 * _MB + (7.3 * _MB if model.needs_masks else 0.0)
    evaluation_box = 2.3 * _MB if model.is_fpn else 1.0 * _MB
    measured = mask_measured if model.needs_masks else faster_measured
    fixed = 3.5 * weights
    return Prior(weights, fixed, pixel * _KB, box, 0.8 * _KB, evaluation_box, measured)


def _prior(model: Model) -> Prior:
    return _efficientdet(model) if model.family is Family.EFFICIENTDET else _two_stage(model)


_PRIORS: Mapping[str, Prior] = MappingProxyType({name: _prior(model) for name, model in catalogue.MODELS.items()})
