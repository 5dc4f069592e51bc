"""Does a checkpoint fit a model? Compares the shapes of its variables with those of the catalogue's networks.

A `detection` checkpoint fills the feature extractor only, so one of Faster R-CNN fits Mask R-CNN with the same
backbone.
"""

import functools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from services.domain.catalogue import Model

__all__ = ["misfit", "network_name"]

_TABLE = Path(__file__).with_name("checkpoint_shapes.json")  # made by benchmarks/checkpoint_shapes.py
_TAKEN_OVER = "model/_feature_extractor"


def network_name(model: Model) -> str:
    """The name of the feature extractor, which several models may share."""
    return model.name if model.pyramid else model.backbone


def misfit(shapes: Mapping[str, tuple[int, ...]], model: Model) -> str | None:
    """Why a checkpoint with variables of these shapes does not fit `model`, as a clause; None where it may fit."""
    wanted = _table()[network_name(model)]
    extractor = Counter(_text(shape) for name, shape in shapes.items() if name.startswith(_TAKEN_OVER))
    if extractor == wanted:
        return None
    others = [name for name, network in _table().items() if network == extractor]
    if others:
        return f"it is a checkpoint of {others[0]}"
    if not extractor:
        return "it is not a detection checkpoint of the TF2 Object Detection API"
    missing = wanted - Counter(map(_text, shapes.values()))
    if not missing:
        return None
    shape = next(iter(missing))
    return f"it lacks {missing.total()} of the {wanted.total()} variables needed, such as one of shape {shape}"


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


@functools.cache
def _table() -> dict[str, Counter[str]]:
    """The number of variables of each shape, by network."""
    return {name: Counter(shapes) for name, shapes in json.loads(_TABLE.read_text()).items()}
