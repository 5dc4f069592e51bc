"""New events are returned in the order of their numbers, each once, in whatever order they are committed."""

import threading
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from services.clock import utc_now
from services.events.tail import EventTail
from services.store import events, jobs
from services.store.engine import Store
from tests.support.counting import counted
from tests.support.desk import Desk, empty


def write(session: Session, job_id: int, message: str) -> None:
    assert jobs.lock(session, job_id) is not None
    events.add(session, job_id, "warning", utc_now(), message=message)
    session.flush()  # assigns the number


def messages(tail: EventTail) -> list[str]:
    return [event.data["message"] for event, _ in tail.read()]


def test_only_events_after_the_start_are_returned_each_once(desk: Desk) -> None:
    desk.slots(4000)
    job = desk.submit()
    tail = EventTail(desk.store)
    tail.start()
    assert tail.read() == []
    with desk.store.transaction() as session:
        write(session, job, "one")
        write(session, job, "two")
    assert [(event.data["message"], owner) for event, owner in tail.read()] == [
        ("one", desk.owner.user_id),
        ("two", desk.owner.user_id),
    ]
    assert tail.read() == []


def test_a_read_without_new_events_is_one_query(desk: Desk) -> None:
    desk.slots(4000)
    desk.submit()
    tail = EventTail(desk.store)
    tail.start()
    with counted(desk.store) as asked:
        assert tail.read() == []
    assert len(asked) == 1


def test_an_empty_database_starts_at_0(desk: Desk) -> None:
    tail = EventTail(desk.store)
    assert tail.start() == 0
    assert tail.read() == []


@pytest.fixture
def several(desk_postgresql: Store, desk_home: Path, tmp_path: Path) -> Desk:
    """On PostgreSQL, as SQLite has one writer at a time, with two jobs."""
    empty(desk_postgresql)
    (tmp_path / "datasets").symlink_to(desk_home / "datasets")
    desk = Desk(desk_postgresql, tmp_path)
    desk.slots(4000)
    return desk


@pytest.fixture
def two_jobs(several: Desk) -> tuple[int, int]:
    return several.submit(), several.submit()


def skip_a_number(desk: Desk, one: int, other: int) -> None:
    """A rolled-back transaction used a number; the event "after it" has the next one."""
    with desk.store.transaction() as undone:
        write(undone, one, "never")
        undone.rollback()
    with desk.store.transaction() as session:
        write(session, other, "after it")


def test_a_smaller_number_that_is_committed_later_is_returned_first(several: Desk, two_jobs: tuple[int, int]) -> None:
    tail = EventTail(several.store)
    tail.start()
    with several.store.transaction() as slow:
        write(slow, two_jobs[0], "first")
        with several.store.transaction() as quick:
            write(quick, two_jobs[1], "second")
        assert messages(tail) == []
        assert messages(tail) == []  # until the first one commits
        with several.store.transaction() as third:
            write(third, two_jobs[1], "third")
        assert messages(tail) == []
    returned = messages(tail) + messages(tail) + messages(tail)
    assert returned == ["first", "second", "third"]


def test_a_number_that_never_comes_blocks_nothing(several: Desk, two_jobs: tuple[int, int]) -> None:
    tail = EventTail(several.store)
    tail.start()
    skip_a_number(several, *two_jobs)
    assert messages(tail) + messages(tail) == ["after it"]


def test_a_database_that_fails_during_a_read_loses_nothing(
    several: Desk, two_jobs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = EventTail(several.store)
    tail.start()
    with several.store.transaction() as session:
        write(session, two_jobs[0], "first")
    skip_a_number(several, *two_jobs)
    with monkeypatch.context() as patch:
        patch.setattr(events, "transaction_id", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tail.read()
    assert messages(tail) + messages(tail) == ["first", "after it"]


def test_a_stuck_transaction_blocks_for_a_limited_time(several: Desk, two_jobs: tuple[int, int]) -> None:
    now = [0.0]
    tail = EventTail(several.store, lambda: now[0])
    tail.start()
    with several.store.transaction() as stopped:
        write(stopped, two_jobs[0], "stopped")
        with several.store.transaction() as session:
            write(session, two_jobs[1], "returned")
        assert messages(tail) + messages(tail) == []
        now[0] = 1000.0
        assert messages(tail) == ["returned"]


def test_a_reader_that_starts_before_a_commit_does_not_miss_it(several: Desk, two_jobs: tuple[int, int]) -> None:
    tail = EventTail(several.store)
    slow = several.store.transaction()
    session = slow.__enter__()
    write(session, two_jobs[0], "first")
    with several.store.transaction() as quick:
        write(quick, two_jobs[1], "second")
    started = threading.Thread(target=tail.start)
    started.start()
    started.join(0.2)
    assert started.is_alive()  # it must wait for the first, which is not committed yet
    slow.__exit__(None, None, None)
    started.join(30)
    with several.store.reading() as reading:
        assert tail.position == events.newest(reading)[0]


def test_events_of_many_writers_are_returned_completely_and_in_order(several: Desk, two_jobs: tuple[int, int]) -> None:
    count = 60
    numbers = [several.submit() for _ in range(4)]
    tail = EventTail(several.store)
    tail.start()

    def work(job: int) -> None:
        for number in range(count):
            with several.store.transaction() as session:
                write(session, job, f"{job}: {number}")
                if number % 7 == 3:
                    session.rollback()

    writers = [threading.Thread(target=work, args=[job]) for job in numbers]
    for writer in writers:
        writer.start()
    returned = []
    while any(writer.is_alive() for writer in writers):
        returned += tail.read()
    for _ in range(5):
        returned += tail.read()
    ids = [event.id for event, _ in returned]
    assert ids == sorted(set(ids))
    with several.store.reading() as session:
        assert ids == [event.id for event, _ in events.after(session, ids[0] - 1, 10_000)]
    assert len(ids) == sum(number % 7 != 3 for number in range(count)) * len(numbers)
