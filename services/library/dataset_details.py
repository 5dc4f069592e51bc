"""Everything about one dataset: what the list shows, the warnings of its checks, its statistics and its classes."""

import json
from typing import Any

from services.datasets.dataset import MANIFEST_FILE
from services.errors import NotFound
from services.library import listing
from services.safe_files import open_below
from services.settings import Settings

__all__ = ["describe_dataset"]

_LARGEST_MANIFEST = 32 * 2**20  # bytes
_MOST_CLASSES = 1000  # listed; the others are counted


def describe_dataset(settings: Settings, name: str) -> dict[str, Any]:
    """`findings` and `statistics` are None for a dataset from before there were any. Raises NotFound."""
    shown = listing.show_dataset(settings, name)
    manifest = _manifest(settings, name) if shown["problem"] is None else {}
    return {
        **shown,
        "findings": manifest.get("findings"),
        "statistics": manifest.get("statistics"),
        **_classes(manifest, shown["classes"]),
    }


def _manifest(settings: Settings, name: str) -> dict[str, Any]:
    try:
        with open_below(settings.datasets_dir, f"{name}/{MANIFEST_FILE}") as file:
            manifest = json.loads(file.read(_LARGEST_MANIFEST))
    except (OSError, ValueError) as error:
        raise NotFound(f"there is no dataset called {name!r}") from error  # it was removed a moment ago
    return manifest if isinstance(manifest, dict) else {}


def _classes(manifest: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Boxes of each class, the most frequent first."""
    train, validation = (manifest.get(split, {}).get("objects_per_class", {}) for split in ("train", "validation"))
    counts = [
        {"name": name, "train": train[name], "validation": validation.get(name, 0)} for name in names if name in train
    ]
    counts.sort(key=lambda one: -one["train"])
    return {"class_counts": counts[:_MOST_CLASSES], "other_classes": len(counts[_MOST_CLASSES:])}
