"""The models that Downshift trains: their networks, legal image sizes and defaults for one GPU.

Facts only, without protobuf. `pipeline_config.build_config` makes a configuration of a model.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from services.domain.suggestions import close_names, shortened

ImageSize = tuple[int, int]  # height, width


class Family(enum.StrEnum):
    EFFICIENTDET = "efficientdet"
    FASTER_RCNN = "faster_rcnn"
    MASK_RCNN = "mask_rcnn"


class UnknownModel(LookupError):
    """No model has that name. The message suggests similar names and lists all."""

    code = "unknown_model"

    def __init__(self, name: str) -> None:
        close = close_names(name, MODELS, most=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else "."
        super().__init__(f"model: no model is called {shortened(name)!r}{hint} The models are {', '.join(MODELS)}.")

    def __str__(self) -> str:  # LookupError would quote the message
        return str(self.args[0])


@dataclass(frozen=True)
class SizeLaw:
    """The heights and widths that a family takes. The network demands multiples of `step`; we offer those of `rung`."""

    minimum: int
    maximum: int
    step: int
    rung: int

    def problem(self, size: ImageSize) -> str | None:
        """Why `size` is illegal, and the nearest legal size; None where it is legal."""
        if all(self.minimum <= side <= self.maximum and side % self.step == 0 for side in size):
            return None
        rule = f"between {self.minimum} and {self.maximum}"
        rule = f"multiples of {self.step} {rule}" if self.step > 1 else rule
        height, width = map(self._nearest, size)
        return f"height and width must be {rule}, got {size[0]}x{size[1]}; the nearest is {height}x{width}"

    def _nearest(self, side: int) -> int:
        near = min(max(side, self.minimum), self.maximum)
        return min(max(round(near / self.rung) * self.rung, self.minimum), self.maximum)


# BiFPN halves the image seven times and adds the levels up again: at other sizes the levels do not match.
_EFFICIENTDET_SIZES = SizeLaw(minimum=256, maximum=2048, step=128, rung=128)
# Two-stage models take any size; rungs of 64 keep the ladder short and the feature maps whole.
_TWO_STAGE_SIZES = SizeLaw(minimum=256, maximum=2048, step=1, rung=64)
_EPOCHS = 100  # with more, a detector overfits a small dataset
FEWEST_SEEN = 8_000  # images; with fewer, a detector does not learn even a few classes
_SHAPE_TOLERANCE = 0.15  # of the aspect ratio; EfficientDet's rungs of 128 leave few sizes for oblong images


@dataclass(frozen=True)
class Pyramid:
    """EfficientDet's compound scaling, apart from the backbone."""

    iterations: int
    filters: int
    head_layers: int
    combine_method: str


@dataclass(frozen=True)
class Model:
    """A model of the catalogue. `smaller` names the one with the next smaller backbone; None for the smallest."""

    name: str
    family: Family
    backbone: str
    extractor: str  # feature_extractor.type
    image_size: ImageSize
    batch_size: int  # about what a card of 12 to 16 GB holds at `image_size`
    smaller: str | None
    sizes: SizeLaw
    learning_rate_per_image: float  # the zoo's rate divided by the zoo's batch
    pyramid: Pyramid | None = None

    images_seen: int = 200_000  # default, at most: enough to fine-tune on a team's own data
    warmup_fraction: float = 0.05

    @property
    def needs_masks(self) -> bool:
        return self.family is Family.MASK_RCNN

    @property
    def is_fpn(self) -> bool:
        return self.extractor.endswith("_fpn_keras")

    @property
    def learning_rate(self) -> float:
        return self.learning_rate_for(self.batch_size)

    @property
    def steps(self) -> int:
        return self.steps_for(self.batch_size)

    @property
    def image_sizes(self) -> tuple[ImageSize, ...]:
        """The square sizes on offer, ascending. A two-stage model takes others too: see `sizes`."""
        sides = range(self.sizes.minimum, self.sizes.maximum + 1, self.sizes.rung)
        return tuple((side, side) for side in sides)

    def smaller_sizes(self, size: ImageSize) -> tuple[ImageSize, ...]:
        """Legal sizes with fewer pixels, descending, with nearly the same aspect ratio."""
        longest = max(size)
        below = (longest - 1) // self.sizes.rung * self.sizes.rung
        ladder = (self._scaled(size, side / longest) for side in range(below, 0, -self.sizes.rung))
        legal = (rung for rung in ladder if min(rung) >= self.sizes.minimum and _same_shape(rung, size))
        return tuple(rung for rung in legal if math.prod(rung) < math.prod(size))

    def _scaled(self, size: ImageSize, factor: float) -> ImageSize:
        rung = self.sizes.rung
        height, width = (round(side * factor / rung) * rung for side in size)
        return height, width

    def learning_rate_for(self, batch_size: int) -> float:
        """The zoo's learning rate for this batch size, by the linear rule."""
        return float(f"{self.learning_rate_per_image * batch_size:.6g}")

    def steps_for(self, batch_size: int, images: int | None = None) -> int:
        """The default number of steps: `images_seen`, or `_EPOCHS` of a dataset of `images` where that is less."""
        seen = self.images_seen if images is None else min(self.images_seen, max(_EPOCHS * images, FEWEST_SEEN))
        return max(1, round(seen / batch_size))

    def warmup_steps_for(self, steps: int) -> int:
        return min(2000, round(steps * self.warmup_fraction))


def _same_shape(one: ImageSize, other: ImageSize) -> bool:
    return math.isclose(one[0] * other[1], one[1] * other[0], rel_tol=_SHAPE_TOLERANCE)


def get(name: str) -> Model:
    """The model of that name. Raises UnknownModel."""
    try:
        return MODELS[name]
    except KeyError:
        raise UnknownModel(name) from None


def smaller_models(model: Model) -> tuple[Model, ...]:
    """The models with smaller backbones than `model`, the largest first."""
    if model.smaller is None:
        return ()
    below = get(model.smaller)
    return (below, *smaller_models(below))


# D6 and D7 fuse without learned weights: the zoo found the plain sum stable at that depth.
#        EfficientNet, image, batch, pyramid, smaller
_EFFICIENTDETS = {
    0: ("b0", 512, 16, Pyramid(3, 64, 3, "fast_attention"), None),
    1: ("b1", 640, 8, Pyramid(4, 88, 3, "fast_attention"), 0),
    2: ("b2", 768, 8, Pyramid(5, 112, 3, "fast_attention"), 1),
    3: ("b3", 896, 4, Pyramid(6, 160, 4, "fast_attention"), 2),
    4: ("b4", 1024, 2, Pyramid(7, 224, 4, "fast_attention"), 3),
    5: ("b5", 1280, 1, Pyramid(7, 288, 4, "fast_attention"), 4),
    6: ("b6", 1408, 1, Pyramid(8, 384, 5, "sum"), 5),
    # D7 is D6's network on a larger image, so the next smaller backbone is D5's.
    7: ("b6", 1536, 1, Pyramid(8, 384, 5, "sum"), 5),
}

#  backbone: Faster R-CNN batch, Mask R-CNN batch, smaller. Models with and without FPN are separate ladders: their
#  second stages differ (two dense layers, a whole ResNet block), so neither is a larger form of the other.
_TWO_STAGE: dict[str, tuple[int, int, str | None]] = {
    "resnet50": (8, 4, None),
    "resnet101": (8, 4, "resnet50"),
    "resnet152": (4, 2, "resnet101"),
    "resnet50_fpn": (8, 4, None),
    "resnet101_fpn": (8, 4, "resnet50_fpn"),
    "resnet152_fpn": (4, 2, "resnet101_fpn"),
    "inception_resnet_v2": (2, 1, "resnet152"),
}


def _efficientdet(number: int) -> Model:
    network, side, batch, pyramid, below = _EFFICIENTDETS[number]
    return Model(
        name=f"efficientdet_d{number}",
        family=Family.EFFICIENTDET,
        backbone=f"efficientnet-{network}",
        extractor=f"ssd_efficientnet-{network}_bifpn_keras",
        image_size=(side, side),
        batch_size=batch,
        smaller=None if below is None else f"efficientdet_d{below}",
        sizes=_EFFICIENTDET_SIZES,
        learning_rate_per_image=0.08 / 128,
        pyramid=pyramid,
    )


def _two_stage(family: Family, backbone: str) -> Model:
    boxes_batch, masks_batch, below = _TWO_STAGE[backbone]
    masks = family is Family.MASK_RCNN
    return Model(
        name=f"{family}_{backbone}",
        family=family,
        backbone=backbone,
        extractor=f"faster_rcnn_{backbone}_keras",
        image_size=(640, 640),
        batch_size=masks_batch if masks else boxes_batch,
        smaller=None if below is None else f"{family}_{below}",
        sizes=_TWO_STAGE_SIZES,
        learning_rate_per_image=0.008 / 16 if masks else 0.04 / 64,
    )


def _all() -> list[Model]:
    two_stage = (Family.FASTER_RCNN, Family.MASK_RCNN)
    return [_efficientdet(number) for number in _EFFICIENTDETS] + [
        _two_stage(family, backbone) for family in two_stage for backbone in _TWO_STAGE
    ]


MODELS: Mapping[str, Model] = MappingProxyType({model.name: model for model in _all()})
