"""Alembic's entry: on the connection that `services.store.migrate` hands over, or on the settings' database."""

from alembic import context
from sqlalchemy import Connection

from services.settings import Settings
from services.store.engine import make_engine
from services.store.models import Base, UtcDateTime


def render(kind: str, value: object, autogenerate: object) -> str | bool:
    """Migrations stand by themselves: a type of ours is written as what it is in the database."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(value, UtcDateTime) else False


def migrate(connection: Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=is_sqlite,
        # Batch mode copies tables; SQLite's DDL is transactional here because we begin ourselves.
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
