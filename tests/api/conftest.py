import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.datasets import shapes
from services.store import migrate
from services.store.engine import Store
from services.users import passwords
from tests.api.service import Service


@pytest.fixture(autouse=True)
def _passwords_are_checked_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept says how it was made, so that each costs what it was made with."""
    monkeypatch.setattr(passwords, "_N", 16)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets") / "shapes"
    shapes.generate(folder, train=4, validation=2, size=64)
    return folder


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once and copied for each test: the migrations have tests of their own."""
    path = tmp_path_factory.mktemp("database") / "empty.db"
    store = Store.open(f"sqlite:///{path}")
    migrate.upgrade(store.engine)
    store.close()
    return path


@pytest.fixture
def service(tmp_path: Path, empty_database: Path, sample: Path) -> Iterator[Service]:
    """On SQLite."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "downshift.db").write_bytes(empty_database.read_bytes())
    store = Store.open(f"sqlite:///{home}/downshift.db")
    with contextlib.closing(store):
        yield Service(home, store, sample)


@pytest.fixture
def service_on_each(tmp_path: Path, store: Store, sample: Path) -> Service:
    """On SQLite and on PostgreSQL."""
    home = tmp_path / "home"
    home.mkdir()
    return Service(home, store, sample)
