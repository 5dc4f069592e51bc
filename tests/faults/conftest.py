from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.store.engine import Store
from tests.faults.fault_box import FaultBox, MakeBox


@pytest.fixture
def make_box(tmp_path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeBox]:
    """On SQLite. Tests in which the database matters use `make_box_on_both`."""
    yield from _boxes(tmp_path, sqlite_store, monkeypatch)


@pytest.fixture
def make_box_on_both(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeBox]:
    yield from _boxes(tmp_path, store, monkeypatch)


def _boxes(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeBox]:
    made: list[FaultBox] = []

    def make(**options: Any) -> FaultBox:
        made.append(FaultBox(folder / "home", store, monkeypatch, **options))
        return made[-1]

    yield make
    for box in made:
        box.close()
