"""Can the service work? Checks the database, its schema and the broker."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

from services.settings import Settings
from services.store import migrate
from services.store.engine import Store, StoreUnavailable

__all__ = ["DATABASE_UNREACHABLE", "readiness"]

# Any use case raises one of these if it cannot reach the database in time. Nothing was changed then.
DATABASE_UNREACHABLE: tuple[type[Exception], ...] = (
    StoreUnavailable,
    OperationalError,
    InterfaceError,
    TimeoutError,
)

_TIMEOUT_S = 1.0


@dataclass(frozen=True)
class Readiness:
    database: bool
    schema: bool
    broker: bool  # not required: without it jobs start some seconds later

    @property
    def is_ready(self) -> bool:
        return self.database and self.schema


def readiness(store: Store, settings: Settings) -> Readiness:
    try:
        schema = migrate.is_current(store.engine)
    except (SQLAlchemyError, OSError):
        return Readiness(False, False, _is_broker_listening(settings))
    return Readiness(True, schema, _is_broker_listening(settings))


def _is_broker_listening(settings: Settings) -> bool:
    try:
        with _connection(settings):
            return True
    except (OSError, ValueError):
        return False


def _connection(settings: Settings) -> socket.socket:
    address = urlsplit(settings.broker)
    if not address.scheme.endswith("socket"):
        return socket.create_connection((address.hostname or "localhost", address.port or 6379), _TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_TIMEOUT_S)
    try:
        connection.connect(address.path)
    except OSError:
        connection.close()
        raise
    return connection
