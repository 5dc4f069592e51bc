"""Series of values over steps: SQL. A series is one metric of one attempt."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from services.store.models import Metric

__all__ = ["Bucket", "Value", "names_of_job", "newest_value", "record", "series", "series_of_attempt"]

_ROWS = 1000  # per statement: both databases bound the parameters of one


@dataclass(frozen=True)
class Value:
    name: str
    step: int
    value: float
    at: datetime.datetime


@dataclass(frozen=True)
class Bucket:
    """The values of one series in one range of steps; `step` is the last of them."""

    name: str
    attempt: int
    step: int
    low: float
    high: float
    mean: float


def record(session: Session, job_id: int, attempt: int, values: Iterable[Value]) -> None:
    """Keep these values. One that is there already is replaced, so that reading events again does no harm."""
    rows: dict[tuple[str, int], dict[str, Any]] = {
        (value.name, value.step): {
            "job_id": job_id,
            "attempt": attempt,
            "name": value.name,
            "step": value.step,
            "value": value.value,
            "at": value.at,
        }
        for value in values
    }
    all_rows = list(rows.values())
    for start in range(0, len(all_rows), _ROWS):
        session.execute(_upsert(session), all_rows[start : start + _ROWS])


def _upsert(session: Session) -> Any:
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    statement: Any = insert(Metric)
    return statement.on_conflict_do_update(
        index_elements=[Metric.job_id, Metric.name, Metric.attempt, Metric.step],
        set_={"value": statement.excluded.value, "at": statement.excluded.at},
    )


def names_of_job(session: Session, job_id: int) -> Sequence[str]:
    return session.scalars(select(Metric.name).where(Metric.job_id == job_id).distinct().order_by(Metric.name)).all()


def series(
    session: Session,
    job_id: int,
    names: Sequence[str],
    max_points: int,
    from_step: int | None = None,
    to_step: int | None = None,
) -> Sequence[Bucket]:
    """Every series of these metrics, thinned to at most `max_points` buckets each; ordered by name, attempt, step.

    Two queries, whatever the number of series: the database reads the values, and only buckets leave it. Of a range of
    steps there is more to see: the same number of points for fewer steps.
    """
    mine = [Metric.job_id == job_id, Metric.name.in_(names)]
    if from_step is not None:
        mine.append(Metric.step >= from_step)
    if to_step is not None:
        mine.append(Metric.step <= to_step)
    return _buckets(session, max_points, *mine)


def series_of_attempt(session: Session, job_id: int, attempt: int, name: str, max_points: int) -> Sequence[Bucket]:
    """As `series`, of one metric in one attempt."""
    return _buckets(session, max_points, Metric.job_id == job_id, Metric.name == name, Metric.attempt == attempt)


def newest_value(session: Session, job_id: int, attempt: int, name: str) -> float | None:
    mine = (Metric.job_id == job_id, Metric.name == name, Metric.attempt == attempt)
    return session.scalar(select(Metric.value).where(*mine).order_by(Metric.step.desc()).limit(1))


def _buckets(session: Session, max_points: int, *mine: ColumnElement[bool]) -> Sequence[Bucket]:
    first, last = session.execute(select(func.min(Metric.step), func.max(Metric.step)).where(*mine)).one()
    if first is None:
        return []
    width = -(-(last - first + 1) // max_points)
    bucket = (Metric.step - first) // width
    rows = session.execute(
        select(
            Metric.name,
            Metric.attempt,
            func.max(Metric.step),
            func.min(Metric.value),
            func.max(Metric.value),
            func.avg(Metric.value),
        )
        .where(*mine)
        .group_by(Metric.name, Metric.attempt, bucket)
        .order_by(Metric.name, Metric.attempt, func.max(Metric.step))
    )
    return [Bucket(*row) for row in rows]
