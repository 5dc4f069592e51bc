"""Lists of jobs on both databases: filters give the right jobs, and searches use an index."""

import datetime
import itertools
from typing import Any

import pytest
from sqlalchemy import event, text

from services.store import listing
from services.store.engine import Store
from services.store.models import Job, User

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NAMES = ("Cones v2", "cones-v3", "100%", "a_b", "aXb", 'say "hi"', "zebra", "ze", "Ümlaut", "potholes")
STATES = ("queued", "failed", "succeeded", "paused")


def job(number: int, name: str, state: str, owner: int) -> Job:
    long: dict[str, Any] = {"request": {}, "policy": {}, "asked": {}, "plan": {}, "planned": {}, "base_config": ""}
    times = {"created_at": NOW, "queued_at": NOW}
    kinds = {"model": "m", "dataset": "d", "steps": 1}
    return Job(id=number, owner_id=owner, name=name, state=state, **kinds, **times, **long)


@pytest.fixture
def jobs(store: Store) -> list[Job]:
    """Jobs with every name in every state, by two owners in turn."""
    with store.transaction() as session:
        session.add_all(User(id=number, name=f"u{number}", role="member", created_at=NOW) for number in (1, 2))
        session.flush()
        made = [
            job(number, name, state, number % 2 + 1)
            for number, (state, name) in enumerate(itertools.product(STATES, NAMES), 1)
        ]
        session.add_all(made)
    return made


@pytest.fixture(params=[3, 1000])
def near(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 3, the index finds most jobs; with 1000, it is not needed."""
    monkeypatch.setattr(listing, "_NEAR", request.param)


def numbers(store: Store, **wanted: Any) -> list[int]:
    with store.reading() as session:
        return [job.id for job in listing.page(session, **{"limit": 100, **wanted})]


TEXTS = ("cones", "CONES", "o", "ze", "zebra", "%", "_", "a_b", '"', 'y "h', "nowhere", "s-v", "lau", "Üm", "s")


@pytest.mark.usefixtures("near")
def test_a_part_of_a_name_is_found_at_any_position(store: Store, jobs: list[Job]) -> None:
    for part in TEXTS:
        expected = [job.id for job in reversed(jobs) if part.lower() in job.name.lower()]
        assert numbers(store, text=part) == expected, part
        assert numbers(store, text=part, limit=3) == expected[:3], part
        assert numbers(store, text=part, before=25) == [number for number in expected if number < 25], part


@pytest.mark.usefixtures("near")
def test_filters_can_be_combined(store: Store, jobs: list[Job]) -> None:
    some_states: list[tuple[str, ...]] = [(), ("failed",), ("paused", "queued"), STATES]
    for states, part, owner in itertools.product(some_states, (None, "cones", "ze"), (None, "u1", "nobody")):
        expected = [
            job.id
            for job in reversed(jobs)
            if (not states or job.state in states)
            and (part is None or part in job.name.lower())
            and (owner is None or f"u{job.owner_id}" == owner)
        ]
        wanted = {"states": states, "text": part, "owner": owner}
        assert numbers(store, **wanted) == expected, wanted
        assert numbers(store, **wanted, limit=2) == expected[:2], wanted
        mine = [number for number in expected if jobs[number - 1].owner_id == 1]
        assert numbers(store, **wanted, only_of=1) == mine, wanted


@pytest.mark.usefixtures("near")
def test_a_renamed_job_is_found_by_its_new_name(store: Store, jobs: list[Job]) -> None:
    with store.transaction() as session:
        session.get_one(Job, 1).name = "renamed"
        session.delete(session.get_one(Job, 2))
    assert numbers(store, text="renamed") == [1]
    assert numbers(store, text="cones", states=["queued"]) == []


@pytest.mark.parametrize("part", ["zebra", "ze", "z"])
def test_a_rare_name_is_found_through_the_index(
    store: Store, jobs: list[Job], monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(listing, "_NEAR", 3)
    asked: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        asked.append((statement, parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    numbers(store, text=part)
    event.remove(store.engine, "before_cursor_execute", note)
    [(statement, parameters)] = [(said, given) for said, given in asked if "known" in said or "job_names" in said]
    with store.engine.connect() as connection:
        if store.engine.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL enable_seqscan = off"))  # with forty rows the server would read them all
            plan = str(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).all())
            assert "ix_jobs_name_grams" in plan
        else:
            plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all())
            assert "VIRTUAL TABLE" in plan
            assert "SCAN jobs" not in plan
