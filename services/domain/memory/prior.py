"""The memory that each model of the catalogue needs, for a host that has not measured it yet.

    training   = fixed + sums + micro_batch x (pixel x height x width + box x second_stage_batch)
    evaluation = held + sums + masks + evaluation_pixel x height x width + evaluation_box x proposals

`fixed` is the weights, the momentum and what a step needs for any images; `held` is the part of it that stays between
steps; `sums` is what accumulation adds. Evaluation takes one image at a time.

The figures come from `benchmarks/memory_points.py`. Models that it did not run are extrapolated along their family and
are not `measured`. Most attempts had three steps. EfficientDet-D0, D1 and D2 were measured again over ten steps and
more, which needed 3 to 13 % more, and corrected; the two-stage models that were measured again needed no more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from services.domain import catalogue
from services.domain.catalogue import Family, Model
from services.domain.memory.fit import Parts
from services.domain.memory.shape import Shape
from services.domain.precision import Precision

_KB, _MB = 10**3, 10**6
# Share of a float32 step's memory per pixel, as measured in bfloat16; float16 has as many bytes and was not measured.
# Weights, momentum, sums and crops stay in float32.
_HALF = 0.54
# While gradients are accumulated: the sum and part of what is added to it, in copies of the weights; and an allowance,
# because a step in pieces runs more often than a whole one, and peaks measured over few runs are too low.
_SUMS, _PIECES = 1.5, 26 * _MB
_PROPOSALS, _SECOND_STAGE_BATCH = 300, 64  # the catalogue's, for a plan that leaves them to the configuration


@dataclass(frozen=True)
class Prior:
    """Bytes in float32. `pixel` and `box` are per image. `measured`: on this model, not extrapolated."""

    weights: float
    fixed: float
    pixel: float
    box: float
    masks: float
    evaluation_pixel: float
    evaluation_box: float
    measured: bool

    @property
    def held(self) -> float:
        """Between steps: the weights, the momentum and the next images."""
        return 2 * self.weights + 30 * _MB


@dataclass(frozen=True)
class Need:
    """The bytes that a plan needs, as the terms of the sums above: measurements correct them one by one."""

    training: Parts
    evaluation: Parts


def of(model: str) -> Prior:
    """The prior of a model. Raises UnknownModel."""
    return _PRIORS[catalogue.get(model).name]


def are_related(one: str, other: str) -> bool:
    """Whether both are of one family, and both with FPN or both without."""
    first, second = catalogue.get(one), catalogue.get(other)
    return (first.family, first.is_fpn) == (second.family, second.is_fpn)


def need(plan: Shape) -> Need:
    """The need by the prior alone. It grows with the micro-batch, the pixels, the proposals and the sample of them."""
    prior = _PRIORS[plan.model]
    height, width = plan.image_size
    pixels = height * width
    accumulates = plan.accumulation > 1
    share = 1.0 if plan.precision is Precision.FLOAT32 else _HALF
    sampled, proposals = plan.second_stage_batch or _SECOND_STAGE_BATCH, plan.proposals or _PROPOSALS
    return Need(
        training=(
            prior.fixed,
            _SUMS * prior.weights + _PIECES if accumulates else 0.0,
            plan.micro_batch * share * prior.pixel * pixels,
            plan.micro_batch * prior.box * sampled,
        ),
        evaluation=(
            prior.held,
            prior.weights if accumulates else 0.0,
            prior.masks + prior.evaluation_pixel * pixels,
            prior.evaluation_box * proposals,
        ),
    )


#  weights in millions, fixed in MB, KB a pixel, MB a box of the second stage; evaluation: MB for masks, MB a proposal;
#  measured. For the others, the weights are the papers', and the need of a step follows the number of blocks of the
#  backbone. That rule predicted the benchmark's `UNSEEN` cases within 5 %. Inception-ResNet was measured at one point,
#  which cannot separate pixels from boxes.
_ROWS = {
    "efficientdet_d0": (4.0, 107, 3.05, 0, 0, 0, True),
    "efficientdet_d1": (6.8, 130, 4.4, 0, 0, 0, True),
    "efficientdet_d2": (8.3, 141, 4.75, 0, 0, 0, True),
    "efficientdet_d3": (12.3, 175, 6.6, 0, 0, 0, True),
    "efficientdet_d4": (21.0, 243, 9.7, 0, 0, 0, True),
    "efficientdet_d5": (34.0, 350, 14.3, 0, 0, 0, False),
    "efficientdet_d6": (52.0, 490, 21.0, 0, 0, 0, False),
    "efficientdet_d7": (52.0, 490, 21.0, 0, 0, 0, False),
    "faster_rcnn_resnet50": (28.3, 415, 1.65, 2.25, 0, 0.85, True),
    "faster_rcnn_resnet101": (47.3, 672, 2.2, 2.25, 0, 0.85, True),
    "faster_rcnn_resnet152": (62.9, 893, 2.85, 2.25, 0, 0.85, False),
    "faster_rcnn_resnet50_fpn": (42.0, 588, 2.9, 1.75, 0, 2.3, True),
    "faster_rcnn_resnet101_fpn": (61.0, 854, 3.45, 1.75, 0, 2.3, True),
    "faster_rcnn_resnet152_fpn": (76.6, 1072, 4.15, 1.75, 0, 2.3, False),
    "faster_rcnn_inception_resnet_v2": (60.0, 850, 5.0, 19.9, 0, 2.6, False),
    "mask_rcnn_resnet50": (32.3, 584, 1.65, 20.5, 640, 0.85, True),
    "mask_rcnn_resnet101": (51.3, 850, 2.2, 20.5, 640, 0.85, False),
    "mask_rcnn_resnet152": (66.9, 1070, 2.85, 20.5, 640, 0.85, False),
    "mask_rcnn_resnet50_fpn": (44.5, 639, 2.4, 9.7, 60, 2.3, True),
    "mask_rcnn_resnet101_fpn": (63.5, 905, 2.95, 9.7, 60, 2.3, True),
    "mask_rcnn_resnet152_fpn": (79.1, 1125, 3.65, 9.7, 60, 2.3, False),
    "mask_rcnn_inception_resnet_v2": (64.0, 1000, 5.0, 35.0, 640, 2.6, False),
}


def _prior(model: Model) -> Prior:
    millions, fixed, pixel, box, masks, evaluation_box, measured = _ROWS[model.name]
    evaluation_pixel = 0.1 * pixel if model.family is Family.EFFICIENTDET else 0.8
    return Prior(
        weights=4 * millions * _MB,
        fixed=fixed * _MB,
        pixel=pixel * _KB,
        box=box * _MB,
        masks=masks * _MB,
        evaluation_pixel=evaluation_pixel * _KB,
        evaluation_box=evaluation_box * _MB,
        measured=measured,
    )


_PRIORS: Mapping[str, Prior] = MappingProxyType({name: _prior(model) for name, model in catalogue.MODELS.items()})
