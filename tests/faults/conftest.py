from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.store.engine import Store
from tests.faults.house import House

MakeHouse = Callable[..., House]


@pytest.fixture
def make_house(tmp_path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeHouse]:
    """On SQLite: what differs between the databases is shown elsewhere."""
    yield from _houses(tmp_path, sqlite_store, monkeypatch)


@pytest.fixture
def make_house_on_both(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeHouse]:
    yield from _houses(tmp_path, store, monkeypatch)


def _houses(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeHouse]:
    made: list[House] = []

    def make(**options: Any) -> House:
        made.append(House(folder / "home", store, monkeypatch, **options))
        return made[-1]

    yield make
    for house in made:
        house.close()
