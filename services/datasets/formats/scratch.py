"""Annotations of one large file, sorted by picture on disk, so that memory stays small whatever their order."""

import functools
import sqlite3
import tempfile
from pathlib import Path

__all__ = ["Scratch", "rows"]

_TABLE = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE annotations (file INTEGER, image TEXT, place INTEGER, text TEXT);
"""


class Scratch:
    """A database that is deleted with this object. `file` numbers the annotation file."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="downshift-annotations-")
        self.path = Path(self._folder.name, "annotations.sqlite")
        self.database = sqlite3.connect(self.path)
        self.database.executescript(_TABLE)

    def add(self, file: int, image: str, place: int, text: str) -> None:
        self.database.execute("INSERT INTO annotations VALUES (?, ?, ?, ?)", (file, image, place, text))

    def finish(self) -> None:
        self.database.execute("CREATE INDEX by_image ON annotations (file, image)")
        self.database.commit()


def rows(path: Path, file: int, image: str) -> list[tuple[int, str]]:
    """Place and text of a picture's annotations, in the order of the file. In any process."""
    found = _connection(path).execute(
        "SELECT place, text FROM annotations WHERE file = ? AND image = ? ORDER BY place", (file, image)
    )
    return found.fetchall()


@functools.lru_cache(maxsize=1)
def _connection(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)
