"""Whether the service can do its work."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

from services.settings import Settings
from services.store import migrate
from services.store.engine import Store, StoreUnavailable

__all__ = ["DATABASE_AWAY", "Readiness", "readiness"]

# What any use case raises where the database cannot be reached, or not in time. Nothing has happened then.
DATABASE_AWAY: tuple[type[Exception], ...] = (
    StoreUnavailable,
    OperationalError,
    InterfaceError,
    TimeoutError,
)

_PATIENCE_S = 1.0


@dataclass(frozen=True)
class Readiness:
    database: bool
    schema: bool
    broker: bool  # for information: without it jobs start seconds later

    @property
    def is_ready(self) -> bool:
        return self.database and self.schema


def readiness(store: Store, settings: Settings) -> Readiness:
    try:
        schema = migrate.is_current(store.engine)
    except (SQLAlchemyError, OSError):
        return Readiness(False, False, _answers(settings))
    return Readiness(True, schema, _answers(settings))


def _answers(settings: Settings) -> bool:
    """Whether anybody listens where the broker should be."""
    try:
        with _connection(settings):
            return True
    except (OSError, ValueError):
        return False


def _connection(settings: Settings) -> socket.socket:
    address = urlsplit(settings.broker)
    if not address.scheme.endswith("socket"):
        return socket.create_connection((address.hostname or "localhost", address.port or 6379), _PATIENCE_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_PATIENCE_S)
    try:
        connection.connect(address.path)
    except OSError:
        connection.close()
        raise
    return connection
