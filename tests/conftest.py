from hypothesis import HealthCheck, settings

from tests.databases import (
    database_url,
    migrated_postgresql,
    migrated_sqlite,
    postgres,
    postgresql_store,
    sqlite_store,
    store,
)

__all__ = [
    "database_url",
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
