"""Reads and changes the image size of a configuration."""

from typing import Any

from services.domain.catalogue import ImageSize
from services.domain.pipeline_config.families import family_of, network_path, size_law
from services.domain.pipeline_config.problems import refuse
from services.domain.pipeline_config.schema.text import Config, copied
from services.domain.pipeline_config.template import network_of


def image_size(config: Config) -> ImageSize:
    """Height and width of the training images; the largest where they differ.

    Raises ConfigError for a resizer without a bound, for which memory cannot be predicted.
    """
    resizer = network_of(config).image_resizer
    kind = resizer.WhichOneof("image_resizer_oneof")
    if kind == "fixed_shape_resizer":
        return resizer.fixed_shape_resizer.height, resizer.fixed_shape_resizer.width
    if kind == "keep_aspect_ratio_resizer":
        kept = resizer.keep_aspect_ratio_resizer
        # Padding always makes a square of the longer side.
        return kept.max_dimension if kept.pad_to_max_dimension else kept.min_dimension, kept.max_dimension
    if kind == "conditional_shape_resizer" and resizer.conditional_shape_resizer.condition == 1:  # GREATER
        side = resizer.conditional_shape_resizer.size_threshold
        return side, side
    raise refuse(resizer_path(config), unbounded(kind))


def has_one_shape(config: Config) -> bool:
    """Whether all images have the same shape, which a batch of several needs."""
    resizer = network_of(config).image_resizer
    kept = resizer.keep_aspect_ratio_resizer  # reads as unpadded where it is not set
    return bool(resizer.HasField("fixed_shape_resizer") or kept.pad_to_max_dimension)


def set_image_size(config: Config, size: ImageSize) -> Config:
    """A copy that trains at (height, width), with the same kind of resizer, aspect ratio and padding.

    Raises ConfigError for a size that the family or this resizer does not support.
    """
    old = image_size(config)
    if tuple(size) == old:
        return copied(config)
    problem = size_law(family_of(config)).problem(size)
    if problem:
        raise refuse(resizer_path(config), problem)
    changed = copied(config)
    _write(network_of(changed).image_resizer, size, resizer_path(config))
    _follow_in_augmentation(changed.train_config, max(old), max(size))
    return changed


def resizer_path(config: Config) -> str:
    return f"{network_path(config)}.image_resizer"


def unbounded(kind: str | None) -> str:
    remedy = "use keep_aspect_ratio_resizer with pad_to_max_dimension, or fixed_shape_resizer"
    return f"{kind} sets no bound on the image size: {remedy}" if kind else f"is missing: {remedy}"


def _write(resizer: Any, size: ImageSize, path: str) -> None:
    height, width = size
    if resizer.HasField("fixed_shape_resizer"):
        resizer.fixed_shape_resizer.height, resizer.fixed_shape_resizer.width = height, width
        return
    kept = resizer.keep_aspect_ratio_resizer
    pads = resizer.HasField("keep_aspect_ratio_resizer") and kept.pad_to_max_dimension
    if (pads or resizer.HasField("conditional_shape_resizer")) and height != width:
        kind = resizer.WhichOneof("image_resizer_oneof")
        raise refuse(f"{path}.{kind}", f"makes squares, got {height}x{width}; use a fixed_shape_resizer or a square")
    if resizer.HasField("conditional_shape_resizer"):
        resizer.conditional_shape_resizer.size_threshold = height
        return
    shorter = round(kept.min_dimension * width / kept.max_dimension) if pads else min(size)
    kept.min_dimension, kept.max_dimension = shorter, max(size)


def _follow_in_augmentation(train: Any, old: int, new: int) -> None:
    """Resize crops that had the old image size; keep other crops, which are the owner's choice."""
    for step in train.data_augmentation_options:
        crop = step.random_scale_crop_and_pad_to_square
        if step.HasField("random_scale_crop_and_pad_to_square") and crop.output_size == old:
            crop.output_size = new
