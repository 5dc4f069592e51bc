"""List the models, datasets and checkpoints that jobs can use, as the API shows them."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from services.clock import stamp_of
from services.datasets import library
from services.datasets.dataset import MANIFEST_FILE, Dataset
from services.domain import catalogue
from services.domain.checkpoints import fit
from services.domain.checkpoints.index import UnreadableIndex, read_shapes
from services.domain.tfrecord import DatasetError
from services.errors import NotFound
from services.library.checkpoint_files import checkpoint_names, checkpoint_path, index_file
from services.safe_files import open_below, walk_below
from services.settings import Settings

__all__ = ["list_checkpoints", "list_datasets", "list_models", "show_checkpoint", "show_dataset"]

_MOST_FILES = 1000  # per checkpoint
_LARGEST_MANIFEST = 32 * 2**20  # bytes; enough for 10,000 classes with the longest names
_UNUSABLE: dict[str, Any] = {
    "classes": [],
    "images": 0,
    "validation_images": 0,
    "boxes": None,
    "boxes_per_class": {},
    "has_masks": False,
    "bytes": 0,
    "format": None,
    "version": None,
}


def list_datasets(settings: Settings) -> list[dict[str, Any]]:
    return [_dataset(settings.datasets_dir, name) for name in library.names(settings.datasets_dir)]


def show_dataset(settings: Settings, name: str) -> dict[str, Any]:
    """Raises NotFound."""
    if name not in library.names(settings.datasets_dir):
        raise NotFound(f"there is no dataset called {name!r}")
    return _dataset(settings.datasets_dir, name)


def _dataset(root: Path, name: str) -> dict[str, Any]:
    """A broken dataset is listed too, with its problem, so that somebody can repair it."""
    try:
        found = Dataset.load(root / name)
        with open_below(root, f"{name}/{MANIFEST_FILE}") as file:
            manifest = json.loads(file.read(_LARGEST_MANIFEST))
        return {
            "name": name,
            "classes": [str(label) for label in manifest["classes"]],
            "images": found.records,
            "validation_images": found.validation_records,
            "boxes": manifest["train"].get("objects"),
            "boxes_per_class": manifest["train"].get("objects_per_class", {}),
            "has_masks": found.has_masks,
            "bytes": int(manifest["bytes"]),
            "format": _text(manifest.get("source")),
            "version": _text(manifest.get("version")),
            "problem": None,
        }
    except (NotFound, ValueError, LookupError, TypeError, OSError) as error:
        problem = f"{MANIFEST_FILE} cannot be read: generate or add the dataset again"
        if isinstance(error, DatasetError):
            problem = str(error)
        return {**_UNUSABLE, "name": name, "problem": problem}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def list_checkpoints(settings: Settings) -> list[dict[str, Any]]:
    root = settings.checkpoints_dir
    return [_checkpoint(root, name) for name in checkpoint_names(root)]


def show_checkpoint(settings: Settings, name: str) -> dict[str, Any]:
    """Raises NotFound."""
    if name not in checkpoint_names(settings.checkpoints_dir):
        raise NotFound(f"there is no checkpoint called {name!r}")
    return _checkpoint(settings.checkpoints_dir, name)


def _checkpoint(root: Path, name: str) -> dict[str, Any]:
    files = list(walk_below(root, name, _MOST_FILES))
    return {
        "name": name,
        "bytes": sum(file.bytes for file in files),
        "modified_at": stamp_of(max((file.modified for file in files), default=(root / name).stat().st_mtime)),
        "models": list(_fitting(root, name)),
    }


def _fitting(root: Path, name: str) -> Sequence[str]:
    """The models that can start from the checkpoint; none if its index cannot be read."""
    path = checkpoint_path(root, name)
    if path is None:
        return ()
    index = index_file(path)
    try:
        return _models_of(index, index.stat().st_mtime_ns)
    except (UnreadableIndex, OSError):
        return ()


@functools.lru_cache(maxsize=256)
def _models_of(index: Path, _modified: int) -> tuple[str, ...]:
    """Cached by path and modification time, so that an unchanged index is read once."""
    shapes = read_shapes(index)
    return tuple(model.name for model in catalogue.MODELS.values() if not fit.misfit(shapes, model))


def list_models() -> list[dict[str, Any]]:
    return [_model(model) for model in catalogue.MODELS.values()]


def _model(model: catalogue.Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "family": str(model.family),
        "backbone": model.backbone,
        "image_size": list(model.image_size),
        "image_sizes": [list(size) for size in model.image_sizes],
        "batch_size": model.batch_size,
        "learning_rate": model.learning_rate,
        "steps": model.steps,
        "needs_masks": model.needs_masks,
        "smaller": model.smaller,
    }
