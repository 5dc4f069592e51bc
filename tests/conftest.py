from hypothesis import HealthCheck, settings

from tests.support.databases import (
    database_url,
    migrated_postgresql,
    migrated_sqlite,
    postgres,
    postgresql_store,
    sqlite_store,
    store,
)
from tests.support.desk_fixtures import desk, desk_home, desk_postgresql, desk_sqlite, desk_store

__all__ = [
    "database_url",
    "desk",
    "desk_home",
    "desk_postgresql",
    "desk_sqlite",
    "desk_store",
    "migrated_postgresql",
    "migrated_sqlite",
    "postgres",
    "postgresql_store",
    "sqlite_store",
    "store",
]

# How long an example takes says how busy the machine is.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")
settings.register_profile("few-examples", settings.get_profile("any-machine"), max_examples=10)
