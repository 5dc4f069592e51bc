"""Find uploaded checkpoints on disk. Each has a folder, which users chose the name of."""

from pathlib import Path

__all__ = ["checkpoint_names", "checkpoint_path", "index_file"]


def checkpoint_names(root: Path) -> list[str]:
    folders = sorted(folder.name for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []
    return [name for name in folders if not name.startswith(".")]


def checkpoint_path(root: Path, name: str) -> Path | None:
    """The newest checkpoint in the folder `name` below `root`, without .index, as TensorFlow names it."""
    if not name or Path(name).name != name or name.startswith("."):
        return None
    try:
        indexes = sorted((root / name).glob("*.index"), key=lambda file: file.stat().st_mtime)
    except (OSError, ValueError):  # the name is too long or contains a NUL: there is no such folder
        return None
    return indexes[-1].with_suffix("") if indexes else None


def index_file(checkpoint: Path) -> Path:
    """The index of a checkpoint that `checkpoint_path` found."""
    return checkpoint.with_name(f"{checkpoint.name}.index")
