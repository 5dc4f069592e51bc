"""Series in the database: stored once, and reduced there in few queries."""

import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from services.store import training_series
from services.store.engine import Store
from services.store.models import Job, Metric, User
from services.store.training_series import Value
from tests.support.counting import counted

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def values(pairs: dict[int, float], name: str = "loss") -> list[Value]:
    return [Value(name, step, value, NOW) for step, value in pairs.items()]


@pytest.fixture
def job(store: Store) -> int:
    with store.transaction() as session:
        session.add(User(id=1, name="u", role="member", created_at=NOW))
        session.flush()
        session.add(
            Job(
                id=7,
                owner_id=1,
                name="n",
                state="running",
                model="m",
                dataset="d",
                request={},
                policy={},
                base_config="",
                asked={},
                plan={},
                planned={},
                steps=1,
                created_at=NOW,
                queued_at=NOW,
            )
        )
    return 7


def test_a_value_stored_twice_is_kept_once(store: Store, job: int) -> None:
    with store.transaction() as session:
        training_series.record(session, job, 1, values({1: 5.0, 2: 4.0}))
        training_series.record(session, job, 1, values({2: 3.0, 3: 2.0}))
        training_series.record(session, job, 1, [*values({4: 9.0}), *values({4: 1.0})])
        training_series.record(session, job, 1, [])
    with store.reading() as session:
        found = training_series.series(session, job, ["loss"], 100)
    assert [(bucket.step, bucket.mean) for bucket in found] == [(1, 5.0), (2, 3.0), (3, 2.0), (4, 1.0)]


def test_each_attempt_has_its_own_series(store: Store, job: int) -> None:
    with store.transaction() as session:
        training_series.record(session, job, 1, values({1: 1.0, 2: 2.0}))
        training_series.record(session, job, 2, values({2: 3.0}))
        training_series.record(session, job, 2, values({2: 0.1}, "rate"))
    with store.reading() as session:
        assert list(training_series.names_of_job(session, job)) == ["loss", "rate"]
        found = training_series.series(session, job, ["loss", "rate", "nothing"], 1)
        assert training_series.series(session, job, [], 10) == []
        assert training_series.series(session, 99, ["loss"], 10) == []
    assert [(bucket.name, bucket.attempt, bucket.step) for bucket in found] == [
        ("loss", 1, 2),
        ("loss", 2, 2),
        ("rate", 2, 2),
    ]


def test_a_long_series_costs_two_queries_and_keeps_its_spike(store: Store, job: int) -> None:
    with store.transaction() as session:
        training_series.record(session, job, 1, values(dict.fromkeys(range(0, 60000, 5), 1.0) | {31_415: 99.0}))
    with counted(store) as asked, store.reading() as session:
        found = training_series.series(session, job, ["loss"], 500)
    assert len(asked) == 2
    assert len(found) <= 500
    assert max(bucket.high for bucket in found) == 99.0
    assert min(bucket.low for bucket in found) == 1.0
    assert found[-1].step == 59_995


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    series=st.dictionaries(st.integers(0, 10**12), st.floats(-1e30, 1e30), min_size=1, max_size=30),
    max_points=st.integers(1, 12),
)
def test_reducing_a_series_keeps_its_order_limits_and_ends(
    store: Store, job: int, series: dict[int, float], max_points: int
) -> None:
    with store.transaction() as session:
        training_series.record(session, job, 1, values(series))
        found = training_series.series(session, job, ["loss"], max_points)
        session.rollback()
    steps = [bucket.step for bucket in found]
    assert len(found) <= max_points
    assert steps == sorted(set(steps))
    assert steps[-1] == max(series)
    assert min(bucket.low for bucket in found) == min(series.values())
    assert max(bucket.high for bucket in found) == max(series.values())
    assert all(bucket.low <= bucket.high for bucket in found)


def plainly(series: dict[int, float], first: int, last: int) -> list[float]:
    return [value for step, value in sorted(series.items()) if first <= step <= last]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    every=st.integers(1, 7),
    count=st.integers(1, 900),
    max_points=st.integers(1, 40),
    ends=st.tuples(st.integers(0, 6000), st.integers(0, 6000)),
    again=st.integers(0, 900),
)
def test_buckets_from_blocks_equal_buckets_from_values(
    store: Store, job: int, every: int, count: int, max_points: int, ends: tuple[int, int], again: int
) -> None:
    """For any range, after parts were written twice: each bucket has minimum, maximum and mean of its steps."""
    first, last = sorted(ends)
    series = {step * every: float(step * 37 % 101) for step in range(count)}
    with store.transaction() as session:
        training_series.record(session, job, 1, values(dict.fromkeys(series, -1e9)))
        training_series.record(session, job, 1, values({step: value for step, value in series.items() if step < again}))
        training_series.record(
            session, job, 1, values({step: value for step, value in series.items() if step >= again})
        )
        found = training_series.series(session, job, ["loss"], max_points, first, last)
        session.rollback()
    assert len(found) <= max_points
    begin = first
    for bucket in found:
        here = plainly(series, begin, bucket.step)
        assert (bucket.low, bucket.high) == (min(here), max(here))
        assert bucket.mean == pytest.approx(sum(here) / len(here))
        begin = bucket.step + 1
    assert plainly(series, begin, last) == []


def test_a_long_series_is_read_in_blocks(store: Store, job: int) -> None:
    with store.transaction() as session:
        training_series.record(session, job, 1, values({step: float(step) for step in range(9000)}))
    with store.transaction() as session:
        session.execute(delete(Metric).where(Metric.step.between(10, 8900)))  # not needed, as blocks are read
        found = training_series.series(session, job, ["loss"], 50)
        assert [found[0].low, found[-1].high] == [0, 8999]
        assert sum(bucket.mean for bucket in found) / len(found) == pytest.approx(4500, rel=0.05)
        assert 25 <= len(found) <= 50
        session.rollback()


def test_values_too_large_to_be_summed_are_stored_and_shown(store: Store, job: int) -> None:
    with store.transaction() as session:
        training_series.record(session, job, 1, values(dict.fromkeys(range(100), 1.7e308)))
        [bucket] = training_series.series(session, job, ["loss"], 1)
    assert bucket.mean == pytest.approx(1e290)
