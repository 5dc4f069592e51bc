"""The family and the catalogue model of a configuration."""

import re

from services.domain import catalogue
from services.domain.catalogue import MODELS, Family, Model, SizeLaw
from services.domain.pipeline_config.problems import refuse
from services.domain.pipeline_config.schema.text import Config
from services.domain.pipeline_config.template import network_of

# The catalogue has no model with b7 (D7 is built on b6), but the OD API has one, and a user's config may name it.
EXTRACTORS: dict[str, tuple[str, ...]] = {
    "ssd": tuple(f"ssd_efficientnet-b{number}_bifpn_keras" for number in range(8)),
    "faster_rcnn": tuple(m.extractor for m in MODELS.values() if m.family is Family.FASTER_RCNN),
}
FAMILIES_HINT = "Downshift trains EfficientDet (model.ssd), Faster R-CNN and Mask R-CNN (model.faster_rcnn)"


def network_path(config: Config) -> str:
    return f"model.{config.model.WhichOneof('model')}"


def family_of(config: Config) -> Family:
    """Raises ConfigError for a network or an extractor that Downshift does not train."""
    kind = config.model.WhichOneof("model")
    if kind not in EXTRACTORS:
        field, what = (f"model.{kind}", "is not supported") if kind else ("model", "is missing")
        raise refuse(field, f"{what}: {FAMILIES_HINT}")
    extractor = network_of(config).feature_extractor.type
    if extractor not in EXTRACTORS[kind]:
        raise refuse(f"model.{kind}.feature_extractor.type", _unsupported(extractor, EXTRACTORS[kind]))
    if kind == "ssd":
        return Family.EFFICIENTDET
    return Family.MASK_RCNN if config.model.faster_rcnn.number_of_stages == 3 else Family.FASTER_RCNN


def identify(config: Config) -> str:
    """The name of the configuration's model in the catalogue. Raises ConfigError for an unknown family.

    D6 and D7 are one network and differ in image size only: below D7's size the answer is D6.
    """
    family = family_of(config)
    extractor = network_of(config).feature_extractor.type
    if family is not Family.EFFICIENTDET:
        return f"{family}_{extractor.removeprefix('faster_rcnn_').removesuffix('_keras')}"
    number = int(re.findall(r"-b(\d)", extractor)[0])
    if number == 6 and _largest_side(config) >= max(catalogue.get("efficientdet_d7").image_size):
        number = 7
    return f"efficientdet_d{number}"


def model_of(config: Config) -> Model:
    return catalogue.get(identify(config))


def size_law(family: Family) -> SizeLaw:
    return next(model.sizes for model in MODELS.values() if model.family is family)


def _largest_side(config: Config) -> int:
    resizer = network_of(config).image_resizer
    fixed, kept = resizer.fixed_shape_resizer, resizer.keep_aspect_ratio_resizer
    return max(fixed.height, fixed.width) if resizer.HasField("fixed_shape_resizer") else int(kept.max_dimension)


def _unsupported(extractor: str, accepted: tuple[str, ...]) -> str:
    what = f"{extractor!r} is not supported" if extractor else "is missing"
    return f"{what}; it may be one of {', '.join(accepted)}"
