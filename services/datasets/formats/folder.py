"""The files below a folder, found once, and the picture that an annotation means by a name."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from services.datasets.formats.picture import split_named
from services.domain.tfrecord import DatasetError

__all__ = ["PICTURES", "Folder", "unique_names"]

PICTURES = frozenset((".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff"))
_SUFFIXES = (*sorted(PICTURES), *sorted(suffix.upper() for suffix in PICTURES))
MOST_FILES = 2_000_000
_IGNORED = ("__MACOSX",)
_WORDS = re.compile(r"[^A-Za-z]+")


class Folder:
    """Paths are relative to `root`, with /. Hidden files and links are left out."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise DatasetError("dataset_missing", f"{root}: there is no such folder")
        self.root = root
        self.files = sorted(_below(root))
        self._known = frozenset(self.files)
        self._by_name: dict[str, list[str]] | None = None

    def ending(self, *suffixes: str) -> Iterator[str]:
        return (file for file in self.files if file.lower().endswith(suffixes))

    def pictures(self) -> Iterator[str]:
        return self.ending(*PICTURES)

    def path(self, file: str) -> Path:
        return self.root / file

    def stem(self, stem: str, beside: str, *places: str) -> str | None:
        """The picture of this name and any suffix, in the folder of the file `beside` or in `places` next to it."""
        near = PurePosixPath(beside).parent
        stems = (_flat(near / place / stem) for place in ("", *places))
        files = (f"{path}{suffix}" for path in stems for suffix in _SUFFIXES)
        return next((file for file in files if file in self._known), None)

    def picture(self, name: str, beside: str, *places: str) -> str:
        """The picture that the file `beside` calls `name`: in its folder, in `places` next to it, or anywhere.

        Annotation tools write paths of the machine they ran on, so at last only the name counts. Raises DatasetError.
        """
        wanted = PurePosixPath(name.replace("\\", "/"))
        found = self._named().get(wanted.name, [])
        if len(found) > 1:
            near = PurePosixPath(beside).parent
            whole = [_flat(near / place / wanted) for place in ("", *places)]
            found = [file for file in whole if file in found][:1] or _ending_alike(found, wanted) or found
        if len(found) == 1:
            return found[0]
        why = f"there are {len(found)} of this name" if found else "there is no such picture in the folder"
        raise DatasetError("dataset_missing", f"{name}: {why}")

    def _named(self) -> dict[str, list[str]]:
        if self._by_name is None:
            self._by_name = {}
            for file in self.pictures():
                self._by_name.setdefault(file.rpartition("/")[2], []).append(file)
        return self._by_name

    @staticmethod
    def split_of(file: str) -> str | None:
        """The split that the path names: of a folder, the nearest first, or of the file, as in instances_val2017."""
        *folders, name = file.split("/")
        words = _WORDS.split(name.rpartition(".")[0])
        named = [split_named(folder) or split_named(_WORDS.sub("", folder)) for folder in reversed(folders)]
        return next((split for split in (*named, *map(split_named, words)) if split), None)


def unique_names(files: Sequence[str]) -> list[str]:
    """The files' names, or their whole paths where two have the same name."""
    names = [file.rpartition("/")[2] for file in files]
    return names if len(set(names)) == len(names) else list(files)


def _below(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _IGNORED]
        near = Path(folder).relative_to(root).as_posix()
        for name in files:
            if name.startswith(".") or os.path.islink(os.path.join(folder, name)):
                continue
            count += 1
            if count > MOST_FILES:
                raise DatasetError("dataset_refused", f"{root}: more than {MOST_FILES:,} files; is it the dataset?")
            yield name if near == "." else f"{near}/{name}"


def _flat(path: PurePosixPath) -> str:
    return os.path.normpath(path)


def _ending_alike(found: Sequence[str], wanted: PurePosixPath) -> list[str]:
    """Those that share the longest end with the wanted path; none if only the name is shared."""
    parts = wanted.parts[::-1]
    for count in range(len(parts), 1, -1):
        alike = [file for file in found if PurePosixPath(file).parts[::-1][:count] == parts[:count]]
        if alike:
            return alike
    return []
