"""The migrations on both databases: up, down and up again with rows in the tables, and in parallel."""

import contextlib
import datetime
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, func, inspect, select, text

from services.store import measurements, migrate, name_search, training_series
from services.store.engine import Store, make_engine
from services.store.models import Base, Job
from services.store.users import audit
from tests.support.databases import new_database
from tests.support.waiting import waits_for

ROOT = Path(__file__).parents[2]
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def filled(column: Any) -> Any:
    """A value for any column, so that these tests cover later tables too."""
    kind = column.type.python_type if not hasattr(column.type, "impl_instance") else datetime.datetime
    return {str: "x", int: 1, float: 0.5, bool: True, object: {"a": 1}, datetime.datetime: NOW}[kind]


def fill(engine: Engine) -> None:
    """One row in every table."""
    with engine.execution_options(downshift_writes=True).begin() as connection:
        for table in Base.metadata.sorted_tables:
            connection.execute(table.insert(), {column.name: filled(column) for column in table.columns})


def counts(engine: Engine) -> dict[str, int]:
    """The number of rows by table."""
    there = set(inspect(engine).get_table_names())
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
            if table.name in there
        }


@pytest.fixture
def engine(database_url: str) -> Any:
    made = make_engine(database_url)
    yield made
    made.dispose()


def test_up_down_and_up_again_with_rows_in_every_table(engine: Engine) -> None:
    assert not migrate.is_current(engine)
    migrate.upgrade(engine)
    assert migrate.is_current(engine)
    fill(engine)
    assert set(counts(engine).values()) == {1}
    migrate.downgrade(engine)
    assert not migrate.is_current(engine)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    migrate.upgrade(engine)
    assert migrate.is_current(engine)
    assert set(counts(engine)) == set(Base.metadata.tables)
    assert set(counts(engine).values()) == {0}
    fill(engine)


def test_a_second_upgrade_finds_nothing_to_do_and_keeps_every_row(engine: Engine) -> None:
    migrate.upgrade(engine)
    fill(engine)
    migrate.upgrade(engine)
    assert set(counts(engine).values()) == {1}


def test_jobs_and_attempts_of_an_older_version_are_kept(engine: Engine) -> None:
    """Before this version, two tables lacked a column."""
    migrate.upgrade(engine)
    fill(engine)
    migrate.downgrade(engine, "0001")
    assert "adjustments" not in {column["name"] for column in inspect(engine).get_columns("jobs")}
    assert set(counts(engine).values()) == {1}
    migrate.upgrade(engine)
    with engine.connect() as connection:
        for table in ("jobs", "attempts"):
            assert connection.scalar(text(f"SELECT count(*) FROM {table} WHERE adjustments IS NULL")) == 1


def test_users_of_an_older_version_have_no_password_and_no_limits(engine: Engine) -> None:
    migrate.upgrade(engine)
    fill(engine)
    migrate.downgrade(engine, "0002")
    migrate.upgrade(engine)
    with engine.connect() as connection:
        [user] = connection.execute(text("SELECT * FROM users")).mappings()
    assert (user["name"], user["role"], user["version"]) == ("x", "x", 1)
    assert {user[name] for name in ("password", "disabled_at", "max_queued", "max_running")} == {None}


def test_the_audit_of_an_older_version_is_found_by_kind(engine: Engine) -> None:
    migrate.upgrade(engine)
    fill(engine)
    with engine.execution_options(downshift_writes=True).begin() as connection:
        connection.execute(text("UPDATE audit SET action = 'job.cancel'"))
    migrate.downgrade(engine, "0016")
    migrate.upgrade(engine)
    with Store(engine).reading() as session:
        assert [len(audit.page(session, 10, kind=kind)) for kind in ("job", "token")] == [1, 0]


def test_the_sentence_that_a_queued_job_of_an_older_version_waits_for_is_still_shown(engine: Engine) -> None:
    migrate.upgrade(engine)
    fill(engine)
    migrate.downgrade(engine, "0018")
    with engine.execution_options(downshift_writes=True).begin() as connection:
        connection.execute(text("UPDATE jobs SET state = 'queued', reason = 'Waits for GPU 0'"))
    migrate.upgrade(engine)
    with Store(engine).reading() as session:
        job = session.scalars(select(Job)).one()
        assert (job.reason, waits_for(job)) == (None, "Waits for GPU 0")
    migrate.downgrade(engine, "0018")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT reason FROM jobs")) == "Waits for a device"


def test_series_and_names_of_an_older_version_can_be_read(engine: Engine) -> None:
    migrate.upgrade(engine)
    fill(engine)
    migrate.downgrade(engine, "0011")
    migrate.upgrade(engine)
    with Store(engine).reading() as session:
        [bucket] = training_series.series(session, 1, ["x"], 10)
        assert session.scalars(select(Job.id).where(name_search.has(session, "x"))).all() == [1]
    assert (bucket.attempt, bucket.step, bucket.low, bucket.mean) == (1, 1, 0.5, 0.5)


def test_the_newest_measurements_of_an_older_version_are_in_use(engine: Engine) -> None:
    migrate.upgrade(engine)
    fill(engine)
    migrate.downgrade(engine, "0013")
    names = [column["name"] for column in inspect(engine).get_columns("measurements") if column["name"] != "id"]
    with engine.execution_options(downshift_writes=True).begin() as connection:
        for number in range(2, 12):
            batch = [str(2 if number == 5 else 1) if name == "micro_batch" else name for name in names]
            values = f"SELECT {number}, {', '.join(batch)} FROM measurements WHERE id = 1"
            connection.execute(text(f"INSERT INTO measurements (id, {', '.join(names)}) {values}"))
    migrate.upgrade(engine)
    with Store(engine).reading() as session:
        assert [row.id for row in measurements.of_models(session, ["x"])] == [11, 10, 9, 8, 7, 6, 5, 4, 3]


def test_a_migration_has_no_time_limit(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeouts of requests are off, as a million rows take longer than 30 s."""
    limits: list[str] = []

    def note(config: Any, revision: str) -> None:
        connection = config.attributes["connection"]
        limits.extend(connection.scalar(text(f"SHOW {name}")) for name in ("statement_timeout", "lock_timeout"))

    monkeypatch.setattr(command, "upgrade", note)
    with new_database(postgres) as address, contextlib.closing(Store.open(address)) as store:
        migrate.upgrade(store.engine)
    assert limits == ["0", "0"]


def is_modelled(name: str | None, kind: str, parents: Any) -> bool:
    """All except the search index of names, which differs by database and has no model."""
    return name != "ix_jobs_name_grams" and not (name or "").startswith("job_names")


def test_the_migrated_schema_equals_the_models(engine: Engine) -> None:
    migrate.upgrade(engine)
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_name": is_modelled}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []


def test_a_failed_upgrade_changes_nothing(engine: Engine) -> None:
    with engine.execution_options(downshift_writes=True).begin() as connection:
        connection.execute(text("CREATE TABLE leases (id INTEGER)"))  # makes the migration fail
    with pytest.raises(Exception, match="leases"):
        migrate.upgrade(engine)
    assert set(inspect(engine).get_table_names()) <= {"leases", "alembic_version"}
    with engine.execution_options(downshift_writes=True).begin() as connection:
        connection.execute(text("DROP TABLE leases"))
    migrate.upgrade(engine)
    assert migrate.is_current(engine)


MIGRATE = """
import sys, time
from services.store import migrate
from services.store.engine import make_engine
engine = make_engine(sys.argv[1])
time.sleep(max(0, float(sys.argv[2]) - time.time()))
migrate.upgrade(engine)
assert migrate.is_current(engine)
"""


@pytest.mark.lengthy
def test_several_processes_migrate_at_once(database_url: str) -> None:
    begin = str(time.time() + 2.0)  # after all processes have imported their modules
    processes = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, database_url, begin], cwd=ROOT, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    ends = [process.communicate(timeout=60)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    store = Store.open(database_url)
    fill(store.engine)
    store.close()
