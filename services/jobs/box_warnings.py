"""Warn where a model's anchors cannot reach the small boxes of a dataset."""

import math
from collections.abc import Iterator

from services.datasets import library
from services.datasets.dataset import read_manifest
from services.datasets.statistics import share_below
from services.domain import catalogue, pipeline_config
from services.domain.pipeline_config import Config
from services.domain.plan.plan import Plan
from services.jobs.check_request import CheckedRequest
from services.settings import Settings

__all__ = ["small_boxes"]

_TOO_SMALL = 0.5  # of the anchor's side: a box within it covers a quarter of the anchor, too little for any match
_WORTH_A_WORD = 0.05  # of the boxes


def small_boxes(settings: Settings, checked: CheckedRequest, plan: Plan) -> list[str]:
    """A sentence if many training boxes are too small for the anchors under `plan`; none without statistics."""
    dataset = library.find(settings.datasets_dir, checked.request["dataset"])
    try:
        shares = read_manifest(dataset.folder)["statistics"]["train"]["box_share"]
    except (LookupError, TypeError):  # a dataset from before there were statistics
        return []
    config = pipeline_config.apply(plan, pipeline_config.parse(checked.base_config))
    anchor = pipeline_config.smallest_anchor(config)
    if anchor is None:
        return []

    def missed(size: tuple[int, int]) -> float:
        """A picture is made as large as the size at most, so that more may be missed."""
        return share_below(shares, _TOO_SMALL * anchor / math.sqrt(size[0] * size[1]))

    size = pipeline_config.image_size(config)
    if missed(size) < _WORTH_A_WORD:
        return []
    larger = next((f"{h}x{w}" for h, w in _larger(config, size) if missed((h, w)) < _WORTH_A_WORD), None)
    remedy = f"train at {larger}, or another larger size" if larger else "cut the images into tiles"
    return [
        f"About {missed(size):.0%} of the training boxes are, at {size[0]}x{size[1]}, less than half as large as the "
        f"smallest anchor ({anchor:g} pixels) and will hardly be found: {remedy}."
    ]


def _larger(config: Config, size: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The model's sizes above this one, the smallest first."""
    sizes = catalogue.get(pipeline_config.identify(config)).image_sizes
    yield from sorted((one for one in sizes if one[0] * one[1] > size[0] * size[1]), key=math.prod)
