"""Count database queries."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from services.store.engine import Store

__all__ = ["counted"]


@contextmanager
def counted(store: Store, kind: str = "SELECT") -> Iterator[list[str]]:
    """The statements of this kind that run inside the block."""
    seen: list[str] = []

    def record(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement.startswith(kind):
            seen.append(statement)

    event.listen(store.engine, "before_cursor_execute", record)
    try:
        yield seen
    finally:
        event.remove(store.engine, "before_cursor_execute", record)
