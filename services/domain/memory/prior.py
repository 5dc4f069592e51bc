"""What each model of the catalogue needs, before anybody has measured it where it will run.

    training   = fixed + sums + micro_batch x (pixel x height x width + box x second_stage_batch)
    evaluation = held + sums + masks + evaluation_pixel x height x width + evaluation_box x proposals

`fixed` is the weights, the momentum and what a step needs whatever the images; `held` is what of it stays between
steps; `sums` is what accumulation adds. Evaluation sees one image at a time. The figures are
those of `benchmarks/memory_points.py`; models that it did not run are extrapolated along their family, and say so.
Most were attempts of three steps. EfficientDet-D0, D1 and D2 were corrected by ones of ten and more, which came to 3 to
13 % more than was thought; of the two-stage models that were tried again, to no more than that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from services.domain import catalogue
from services.domain.catalogue import Family, Model
from services.domain.memory.fit import Parts
from services.domain.memory.shape import Shape
from services.domain.plan.plan import Precision

_KB, _MB = 10**3, 10**6
# Of what a float32 step keeps for each pixel. Weights, momentum and sums stay in float32, and so do the crops.
_BFLOAT16 = 0.54
# While gradients are accumulated: the sum and part of what is added to it, in copies of the weights; and an allowance,
# as a step in pieces runs more often than a whole one, and peaks measured over few runs are low.
_SUMS, _PIECES = 1.5, 26 * _MB
_PROPOSALS, _SECOND_STAGE_BATCH = 300, 64  # where a plan leaves them open: what the catalogue's configurations have


@dataclass(frozen=True)
class Prior:
    """Bytes in float32. `pixel` and `box` are of one image; `measured`: on this very model."""

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
    """What a plan needs, in the parts that measurements correct one by one: the terms of the sums above. Bytes."""

    training: Parts
    evaluation: Parts


def of(model: str) -> Prior:
    """Raises UnknownModel."""
    return _PRIORS[catalogue.get(model).name]


def are_related(one: str, other: str) -> bool:
    """Of one family, and both with FPN or both without."""
    first, second = catalogue.get(one), catalogue.get(other)
    return (first.family, first.is_fpn) == (second.family, second.is_fpn)


def need(plan: Shape) -> Need:
    """By the prior alone. Grows with the micro-batch, the pixels, the proposals and the second stage's batch."""
    prior = _PRIORS[plan.model]
    height, width = plan.image_size
    pixels = height * width
    accumulates = plan.accumulation > 1
    share = _BFLOAT16 if plan.precision is Precision.BFLOAT16 else 1.0
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
#  measured. Of the rest, weights are the papers', and what a step needs follows the blocks that one backbone has over
#  the next: so were those of the benchmark's `UNSEEN` cases, and then found within 5 %. Inception-ResNet was measured
#  at one point, which cannot tell pixels from boxes.
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
