"""Find registered checkpoints on disk: one folder each, named by its users."""

from pathlib import Path

__all__ = ["checkpoint_names", "checkpoint_path"]


def checkpoint_names(root: Path) -> list[str]:
    folders = sorted(folder.name for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []
    return [name for name in folders if not name.startswith(".")]


def checkpoint_path(root: Path, name: str) -> Path | None:
    """The newest checkpoint in the folder `name` below `root`, as TensorFlow names it (without .index)."""
    if not name or Path(name).name != name or name.startswith("."):
        return None
    try:
        indexes = sorted((root / name).glob("*.index"), key=lambda file: file.stat().st_mtime)
    except (OSError, ValueError):  # too long for a name, or with a NUL: there is no such folder
        return None
    return indexes[-1].with_suffix("") if indexes else None
