"""Connections and transactions: SQLite or PostgreSQL behind one `Store`."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from services.settings import SettingsError
from services.store.later import LaterWrites

__all__ = ["Store", "StoreUnavailable", "is_locked", "make_engine"]

_BUSY_MS = 15_000
_WRITES = "downshift_writes"
_LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's SQLSTATE of a lock_timeout
_TIMEOUTS_MS = {"statement_timeout": 30_000, "lock_timeout": 15_000, "idle_in_transaction_session_timeout": 60_000}


class StoreUnavailable(Exception):
    """The database is unreachable or too busy. Nothing was written; the caller may try again later."""

    code = "store_unavailable"


class Store:
    """Opens database sessions. A use case runs its SQL in one: committed at the end, or rolled back on an error."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(**{_WRITES: True})
        self.later = LaterWrites(self.transaction)

    @classmethod
    def open(cls, url: str) -> "Store":
        return cls(make_engine(url))

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """For writing. On SQLite it takes the write lock at its start, so that nothing read in it is stale."""
        with _available(), Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with _available(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    def close(self) -> None:
        self.later.wait()
        self.engine.dispose()


def is_locked(error: StoreUnavailable) -> bool:
    """Was the database reachable, but locked by another process?"""
    cause = getattr(error.__cause__, "orig", None)
    if isinstance(cause, sqlite3.OperationalError):
        # The lowest byte is the primary error code.
        return (getattr(cause, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE


@contextmanager
def _available() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise StoreUnavailable(str(error.orig or error)) from error
    except PoolTimeout as error:
        raise StoreUnavailable("all connections to the database are in use") from error


def make_engine(url: str) -> Engine:
    """Raises SettingsError for an invalid address."""
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except ArgumentError:
        raise SettingsError("DOWNSHIFT_DATABASE_URL: not a valid database address") from None
    if backend == "sqlite":
        return _sqlite(url, address.database)
    if backend == "postgresql":
        # Timeouts: a hanging query must not block a heartbeat, nor a suspended process all others, for ever.
        # Custom plans: a generic plan suits no state, as of a million jobs some hundred are queued.
        options = {**_TIMEOUTS_MS, "plan_cache_mode": "force_custom_plan"}
        arguments = {"connect_timeout": 5, "options": " ".join(f"-c {name}={value}" for name, value in options.items())}
        return create_engine(
            address.set(drivername="postgresql+psycopg"), pool_pre_ping=True, pool_size=10, connect_args=arguments
        )
    raise SettingsError(f"DOWNSHIFT_DATABASE_URL: sqlite:///… or postgresql://…, got {backend}://…")


def _sqlite(url: str, path: str | None) -> Engine:
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": _BUSY_MS / 1000})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # otherwise the driver begins transactions itself, always deferred
    cursor = connection.cursor()
    _switch_to_wal(cursor)
    for pragma in ("synchronous=FULL", f"busy_timeout={_BUSY_MS}", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """Retries, because SQLite fails at once here when several processes open a new file."""
    deadline = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
