"""Find the datasets that jobs can use: folders below one root."""

from pathlib import Path

from services.datasets.dataset import MANIFEST_FILE, Dataset
from services.domain.suggestions import close_names, shortened
from services.domain.tfrecord import DatasetError

__all__ = ["find", "names"]


def names(root: Path) -> list[str]:
    if not root.is_dir():
        return []
    folders = sorted(file.parent.name for file in root.glob(f"*/{MANIFEST_FILE}"))
    return [name for name in folders if not name.startswith(".")]


def find(root: Path, name: str) -> Dataset:
    """The dataset of that name. Raises DatasetError, with similar or all names if there is none."""
    known = names(root)
    if name not in known:
        close = close_names(name, known)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"
        raise DatasetError("dataset_missing", f"there is no dataset called {shortened(name)!r}; {hint}")
    return Dataset.load(root / name)
