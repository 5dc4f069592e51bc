import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.datasets import shapes
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


@pytest.fixture
def service(tmp_path: Path, migrated_sqlite: Path, sample: Path) -> Iterator[Service]:
    """On SQLite, where it is by default."""
    home = tmp_path / "home"
    home.mkdir()
    path = shutil.copy(migrated_sqlite, home / "downshift.db")
    with contextlib.closing(Store.open(f"sqlite:///{path}")) as store:
        yield Service(home, store, sample)


@pytest.fixture
def service_on_postgresql(tmp_path: Path, postgresql_store: Store, sample: Path) -> Service:
    return Service(tmp_path / "home", postgresql_store, sample)


@pytest.fixture
def service_on_each(tmp_path: Path, store: Store, sample: Path) -> Service:
    """On SQLite and on PostgreSQL."""
    return Service(tmp_path / "home", store, sample)
