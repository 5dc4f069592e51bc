"""Upgrade the database schema with the migrations."""

import functools
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

__all__ = ["downgrade", "is_current", "upgrade"]

MIGRATIONS = Path(__file__).parents[2] / "migrations"
_LOCK = 7_239_041  # arbitrary, but the same in every process


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Several processes may call this at once: each waits for the one before it."""
    with engine.execution_options(downshift_writes=True).begin() as connection:
        _wait_for_turn(connection)
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str = "base") -> None:
    with engine.execution_options(downshift_writes=True).begin() as connection:
        _wait_for_turn(connection)
        command.downgrade(_config(connection), revision)


def is_current(engine: Engine) -> bool:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == _head()


@functools.cache
def _head() -> str | None:
    """Cached, because reading all migrations takes 20 ms and they do not change while a process runs."""
    return ScriptDirectory(str(MIGRATIONS)).get_current_head()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def _wait_for_turn(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":  # SQLite's transaction holds the write lock already
        for limit in ("statement_timeout", "lock_timeout"):  # a migration of a million rows takes longer
            connection.execute(text(f"SET LOCAL {limit} = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
