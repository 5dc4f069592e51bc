"""Connections and transactions on both databases."""

import contextlib
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from services.settings import SettingsError
from services.store import engine as engines
from services.store.engine import Store, StoreUnavailable, make_engine
from services.store.models import User
from tests.support.desk import Desk, ago


def user(name: str) -> User:
    return User(name=name, role="member", created_at=ago(0))


def test_a_failed_transaction_stores_nothing(desk: Desk) -> None:
    def fail() -> None:
        with desk.store.transaction() as session:
            session.add(user("half"))
            session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert "half" not in [one.name for one in desk.rows(User)]


def test_a_violated_constraint_is_not_store_unavailable(desk: Desk) -> None:
    with pytest.raises(IntegrityError), desk.store.transaction() as session:
        session.add(user("owner"))


def test_foreign_keys_are_enforced(desk: Desk) -> None:
    with pytest.raises(IntegrityError), desk.store.transaction() as session:
        session.execute(
            text("INSERT INTO audit (at, user_id, action, target, data) VALUES (:at, 999, 'a', 't', '{}')"),
            {"at": ago(0)},
        )


def test_times_are_read_with_their_zone(desk: Desk) -> None:
    assert all(one.created_at.utcoffset().total_seconds() == 0 for one in desk.rows(User))


def test_two_transactions_that_read_and_write_do_not_lose_a_change(desk: Desk) -> None:
    """Claiming relies on this: `lock` reads the current row."""
    from services.store import jobs

    job_id = desk.submit()

    def raise_priority() -> None:
        for _ in range(10):
            with desk.store.transaction() as session:
                job = jobs.lock(session, job_id)
                assert job is not None
                before = job.priority
                time.sleep(0.001)
                job.priority = before + 1

    threads = [threading.Thread(target=raise_priority) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert desk.job(job_id).priority == 40


def test_readers_do_not_wait_for_a_writer(desk: Desk) -> None:
    with desk.store.transaction() as session:
        session.add(user("in the writing"))
        session.flush()
        assert "in the writing" not in [one.name for one in desk.rows(User)]


def test_a_locked_database_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_BUSY_MS", 100)
    store = Store.open(f"sqlite:///{tmp_path}/busy.db")
    with store.transaction() as session:
        session.execute(text("CREATE TABLE t (x INTEGER)"))
    with contextlib.closing(sqlite3.connect(tmp_path / "busy.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="locked") as away, store.transaction() as session:
            session.execute(text("SELECT 1"))
        assert away.value.code == "store_unavailable"
        other.rollback()
    with store.transaction() as session:
        session.execute(text("INSERT INTO t VALUES (1)"))
    store.close()


def test_a_missing_server_is_unavailable_without_a_long_wait() -> None:
    store = Store.open("postgresql://nobody@127.0.0.1:1/none")
    began = time.monotonic()
    with pytest.raises(StoreUnavailable), store.reading() as session:
        session.execute(text("SELECT 1"))
    assert time.monotonic() - began < 6


def test_a_pool_without_free_connections_is_unavailable(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.store.engine.pool, "_timeout", 0.1)
    with contextlib.ExitStack() as stack:
        for _ in range(desk.store.engine.pool.size() + 10):  # type: ignore[attr-defined]
            stack.enter_context(desk.store.engine.connect())
        with pytest.raises(StoreUnavailable), desk.store.reading() as session:
            session.execute(text("SELECT 1"))


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://x/y", "mongodb://x"])
def test_the_address_of_another_database_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="DOWNSHIFT_DATABASE_URL"):
        make_engine(url)


def test_sqlite_uses_wal_with_full_synchronisation(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/deep/er/test.db")
    with store.reading() as session:
        pragmas = {name: session.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")}
    assert pragmas == {"journal_mode": "wal", "synchronous": 2}
    store.close()


def test_several_processes_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """They all switch the journal mode, where SQLite fails at once instead of waiting."""
    refused: list[BaseException] = []

    def begin(url: str, ready: threading.Barrier) -> None:
        opened = Store.open(url)
        ready.wait()
        try:
            with opened.transaction() as session:
                session.execute(text("CREATE TABLE IF NOT EXISTS t (x INTEGER)"))
        except BaseException as error:
            refused.append(error)
        opened.close()

    for number in range(60):
        ready = threading.Barrier(4)
        arguments = (f"sqlite:///{tmp_path}/{number}.db", ready)
        threads = [threading.Thread(target=begin, args=arguments) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert refused == []
