"""The datasets that jobs may name: folders below one root."""

import difflib
from pathlib import Path

from services.datasets import shapes
from services.datasets.shapes import ShapesDataset
from services.domain.tfrecord import DatasetError

__all__ = ["find", "names"]


def names(root: Path) -> list[str]:
    if not root.is_dir():
        return []
    return sorted(file.parent.name for file in root.glob(f"*/{shapes.MANIFEST_FILE}"))


def find(root: Path, name: str) -> ShapesDataset:
    """The dataset of that name; raises DatasetError, with the names there are where there is none."""
    known = names(root)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"
        raise DatasetError("dataset_missing", f"there is no dataset called {name!r}; {hint}")
    return shapes.load(root / name)
