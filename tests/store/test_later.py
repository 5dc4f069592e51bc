"""Read requests do not wait for deferred writes."""

import datetime
import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from services.clock import utc_now
from services.settings import Settings
from services.store import migrate
from services.store.engine import Store
from services.store.models import Token, User, UserSession
from services.users import passwords, principal, sessions
from services.users.principal import Role

PASSWORD = "four words in a row"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def store(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr("services.store.engine._BUSY_MS", 200)
    store = Store.open(settings.database_url)
    migrate.upgrade(store.engine)
    return store


def test_a_read_request_does_not_wait_for_a_locked_database(store: Store, settings: Settings) -> None:
    secret = principal.ensure_admin(store, settings)
    assert secret is not None
    with store.transaction() as session:
        user = session.query(User).one()
        user.password = passwords.hash_password(PASSWORD, "admin")
        assert user.role == Role.ADMIN
    begun = sessions.log_in(store, "admin", PASSWORD)
    long_ago = utc_now() - datetime.timedelta(hours=1)
    with store.transaction() as session:
        session.query(UserSession).update({"last_used_at": long_ago})
    holder = sqlite3.connect(settings.home / "downshift.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    writing = threading.Event()

    def probe(session: Session) -> None:
        session.execute(text("SELECT 1"))
        writing.set()

    store.later.put("probe", probe)
    assert principal.authenticate(store, secret).name == "admin"
    assert sessions.authenticate(store, begun.secret).name == "admin"
    assert not writing.is_set()  # all requests were answered while nothing could be written
    holder.execute("COMMIT")
    holder.close()
    store.later.wait()
    principal.authenticate(store, secret)
    sessions.authenticate(store, begun.secret)
    store.later.wait()
    with store.reading() as session:
        token, row = session.query(Token).one(), session.query(UserSession).one()
        assert token.last_used_at is not None
        assert row.last_used_at > long_ago
    store.close()


def test_a_deferred_write_that_fails_is_dropped_and_logged(
    store: Store, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    holder = sqlite3.connect(settings.home / "downshift.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    written: list[str] = []

    def write(session: Session) -> None:
        session.execute(text("SELECT 1"))
        written.append("a")

    store.later.put("a", write)
    store.later.wait()
    holder.execute("COMMIT")
    holder.close()
    store.later.put("b", lambda session: written.append("b"))
    store.later.wait()
    assert written == ["b"]
    assert "1 deferred writes failed" in caplog.text
    store.close()


def test_the_newest_deferred_write_per_key_is_written(store: Store) -> None:
    begun, go, written = threading.Event(), threading.Event(), []

    def wait(session: object) -> None:
        begun.set()
        go.wait(60)

    def note(number: int, session: object) -> None:
        written.append(number)

    store.later.put("first", wait)
    assert begun.wait(60)
    for number in range(100):
        store.later.put("x", partial(note, number))
    go.set()
    store.later.wait()
    assert written == [99]
    store.close()


def test_without_a_thread_writes_wait_for_the_next_one(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    written: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        store.later.put("a", lambda session: written.append("a"))
    assert "can't start new thread" in caplog.text
    store.later.put("b", lambda session: written.append("b"))
    store.later.wait()
    assert written == ["a", "b"]
    store.close()
