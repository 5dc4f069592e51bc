"""Alembic's entry point. Uses the connection of `services.store.migrate`, or else the database of the settings."""

from alembic import context
from sqlalchemy import Connection

from services.settings import Settings
from services.store.engine import make_engine
from services.store.models import Base, UtcDateTime


def render(kind: str, value: object, autogenerate: object) -> str | bool:
    """Write our own column types as the database's types, so that migrations do not import our code."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(value, UtcDateTime) else False


def migrate(connection: Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=is_sqlite,
        # Batch mode copies tables. SQLite's DDL is transactional here, because we begin the transaction ourselves.
        transactional_ddl=True,
        compare_type=True,
        render_item=render,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    engine = make_engine(Settings.from_environment().database_url)
    with engine.execution_options(downshift_writes=True).begin() as own:
        migrate(own)
