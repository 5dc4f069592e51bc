import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from services.datasets import shapes
from services.store.engine import Store
from services.users import passwords
from tests.support.api_service import People, Service, add_people
from tests.support.databases import BACKENDS, new_database


@pytest.fixture(autouse=True)
def _passwords_are_checked_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored password names its cost, so that tests can use a low one."""
    monkeypatch.setattr(passwords, "_N", 16)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets") / "shapes"
    shapes.generate(folder, train=4, validation=2, size=64)
    return folder


@pytest.fixture(scope="session")
def populated_sqlite(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> tuple[Path, People]:
    """A database with users, and their tokens. Created once and copied for each test."""
    home = tmp_path_factory.mktemp("people")
    path = Path(shutil.copy(migrated_sqlite, home / "downshift.db"))
    with contextlib.closing(Store.open(f"sqlite:///{path}")) as store:
        return path, add_people(store, home)


@pytest.fixture(scope="session")
def populated_postgresql(
    tmp_path_factory: pytest.TempPathFactory, postgres: str, migrated_postgresql: str
) -> Iterator[tuple[str, People]]:
    """The same on PostgreSQL: the database's name, and the users."""
    with new_database(postgres, migrated_postgresql) as address:
        with contextlib.closing(Store.open(address)) as store:
            people = add_people(store, tmp_path_factory.mktemp("people"))
        yield str(make_url(address).database), people


@contextlib.contextmanager
def service_on_sqlite(home: Path, populated: tuple[Path, People], sample: Path, **settings: Any) -> Iterator[Service]:
    database, people = populated
    home.mkdir()
    path = shutil.copy(database, home / "downshift.db")
    with contextlib.closing(Store.open(f"sqlite:///{path}")) as store:
        yield Service(home, store, people, sample, **settings)


@pytest.fixture
def service(tmp_path: Path, populated_sqlite: tuple[Path, People], sample: Path) -> Iterator[Service]:
    """On SQLite, the default."""
    with service_on_sqlite(tmp_path / "home", populated_sqlite, sample) as found:
        yield found


@pytest.fixture
def service_on_postgresql(
    tmp_path: Path, postgres: str, populated_postgresql: tuple[str, People], sample: Path
) -> Iterator[Service]:
    template, people = populated_postgresql
    with new_database(postgres, template) as address, contextlib.closing(Store.open(address)) as store:
        yield Service(tmp_path / "home", store, people, sample)


@pytest.fixture(params=BACKENDS)
def service_on_each(request: pytest.FixtureRequest) -> Service:
    """On SQLite and on PostgreSQL."""
    name = "service" if request.param == "sqlite" else "service_on_postgresql"
    found: Service = request.getfixturevalue(name)
    return found
