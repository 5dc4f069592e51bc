"""Fixtures that run a test on both databases. Each database is migrated once and emptied before each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.store import migrate
from services.store.engine import Store
from tests.support.databases import BACKENDS, new_database
from tests.support.desk import Desk, empty, sample_home


@pytest.fixture(scope="session")
def desk_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from _opened(f"sqlite:///{tmp_path_factory.mktemp('desk')}/desk.db")


@pytest.fixture(scope="session")
def desk_postgresql(postgres: str) -> Iterator[Store]:
    with new_database(postgres) as address:
        yield from _opened(address)


def _opened(address: str) -> Iterator[Store]:
    store = Store.open(address)
    migrate.upgrade(store.engine)
    yield store
    store.close()


@pytest.fixture(scope="session")
def desk_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_home(tmp_path_factory.mktemp("desk-home"))


@pytest.fixture(params=BACKENDS)
def desk_store(request: pytest.FixtureRequest) -> Store:
    store: Store = request.getfixturevalue(f"desk_{request.param}")
    empty(store)
    return store


@pytest.fixture
def desk(desk_store: Store, desk_home: Path, tmp_path: Path) -> Desk:
    """A home for each test; the dataset is shared."""
    (tmp_path / "datasets").symlink_to(desk_home / "datasets")
    return Desk(desk_store, tmp_path)
