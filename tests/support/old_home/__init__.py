"""A HOME of version 0.1.0, for tests that the code of today takes it up. README.md says how it was made."""

import contextlib
import json
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, make_url, text

from services.store import migrate
from services.store.engine import Store

__all__ = ["DEVICES", "HOST", "JOBS", "PASSWORD", "TOKENS", "unpack"]

DEVICES, HOST = "cpu:1000,cpu:1100,cpu:120", "box"
_FOLDER = Path(__file__).parent
_known = json.loads((_FOLDER / "known.json").read_text())
JOBS: dict[str, int] = _known["jobs"]  # by name
TOKENS: dict[str, str] = _known["tokens"]  # by user
PASSWORD: str = _known["password"]  # anna's
_HOME = "@HOME@"


def unpack(home: Path, database_url: str) -> None:
    """Put the files below `home` and the rows into an empty database, with the schema that version 0.1.0 had."""
    with tarfile.open(_FOLDER / "files.tar.gz") as tar:
        for entry in tar:
            file = tar.extractfile(entry)
            assert file is not None
            path = home / entry.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read().replace(_HOME.encode(), str(home).encode()))
    rows = (_FOLDER / "database.sql").read_text().replace(_HOME, str(home))
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        assert url.database is not None
        _load(url.database, rows).close()
    else:
        with (
            contextlib.closing(_load(":memory:", rows)) as source,
            contextlib.closing(Store.open(database_url)) as store,
        ):
            _copy(source, store)


def _load(path: str, rows: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.executescript(rows)
    return connection


def _copy(source: sqlite3.Connection, target: Store) -> None:
    """To PostgreSQL. Every value goes through its text, which PostgreSQL reads as the type of the column."""
    [revision] = source.execute("SELECT version_num FROM alembic_version").fetchone()
    migrate.upgrade(target.engine, revision)
    schema = MetaData()
    with target.engine.execution_options(downshift_writes=True).begin() as connection:
        schema.reflect(connection)
        connection.execute(text("SET LOCAL TIME ZONE 'UTC'"))
        for table in schema.sorted_tables:
            if table.name != "alembic_version":
                _copy_table(source, connection, table)


def _copy_table(source: sqlite3.Connection, connection: Connection, table: Any) -> None:
    names = [column.name for column in table.columns]
    types = [column.type.compile(connection.dialect) for column in table.columns]
    quoted = ", ".join(f'"{name}"' for name in names)
    rows = source.execute(f"SELECT {quoted} FROM {table.name}").fetchall()
    values = ", ".join(f"CAST(CAST(:v{at} AS text) AS {kind})" for at, kind in enumerate(types))
    for row in rows:
        said = {f"v{at}": None if value is None else str(value) for at, value in enumerate(row)}
        connection.execute(text(f"INSERT INTO {table.name} ({quoted}) VALUES ({values})"), said)
    if rows and "id" in names:
        number = connection.scalar(text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')"))
        if number is not None:
            connection.execute(text(f"SELECT setval('{number}', (SELECT max(id) FROM {table.name}))"))
