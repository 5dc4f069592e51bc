"""The few statements that SQLite and PostgreSQL spell differently."""

from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

__all__ = ["insert_into", "is_postgresql"]


def is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"


def insert_into(session: Session, table: type[Any]) -> Any:
    """An insert that knows ON CONFLICT, which SQLAlchemy's general one does not."""
    return postgresql.insert(table) if is_postgresql(session) else sqlite.insert(table)
