"""SQL for series of values over steps. A series is one metric of one attempt.

Besides the values, the tables hold aggregates over blocks of 4, 16, 64 … 4096 steps. A chart is computed from the
largest blocks that are fine enough: at most 8 rows are read for each point, however long the series.
"""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal, select, union_all
from sqlalchemy.orm import Session

from services.store.dialect import insert_into
from services.store.models import Metric, MetricBlock

__all__ = ["Bucket", "Value", "names_of_job", "newest_value", "record", "series", "series_of_attempt"]

_ROWS = 1000  # per statement, as both databases limit the number of parameters
_NAMES = 500  # likewise
_LARGEST = 1e290  # sums of larger values would overflow, which PostgreSQL refuses
_WIDTHS = (4, 16, 64, 256, 1024, 4096)  # steps per block; each is a multiple of the one before


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
    """Store these values. Existing ones are replaced, so that the same events can be read twice."""
    rows: dict[tuple[str, int], dict[str, Any]] = {
        (value.name, value.step): {
            "job_id": job_id,
            "attempt": attempt,
            "name": value.name,
            "step": value.step,
            "value": max(-_LARGEST, min(_LARGEST, value.value)),
            "at": value.at,
        }
        for value in values
    }
    all_rows = list(rows.values())
    for start in range(0, len(all_rows), _ROWS):
        session.execute(_upsert(session), all_rows[start : start + _ROWS])
    names, steps = sorted({name for name, _ in rows}), [step for _, step in rows]
    for start in range(0, len(names), _NAMES):
        some = _Series(job_id, names[start : start + _NAMES], [attempt])
        _write_blocks(session, some, min(steps), max(steps))


def _upsert(session: Session) -> Any:
    statement = insert_into(session, Metric)
    return statement.on_conflict_do_update(
        index_elements=[Metric.job_id, Metric.name, Metric.attempt, Metric.step],
        set_={"value": statement.excluded.value, "at": statement.excluded.at},
    )


@dataclass(frozen=True)
class _Series:
    """Selects series. Attempts are always named, so that a range of steps is a range of the table's key."""

    job_id: int
    names: Sequence[str]
    attempts: Sequence[int]

    def parts(self, width: int, begin: int, end: int) -> Select[Any]:
        """The values (`width` 1) or blocks of `width` steps, from the step `begin` up to but without `end`.

        For blocks, `begin` and `end` must be multiples of `width`.
        """
        table: type[Metric | MetricBlock] = Metric if width == 1 else MetricBlock
        mine = [table.job_id == self.job_id, table.name.in_(self.names), table.attempt.in_(self.attempts)]
        if width == 1:
            step, value = Metric.step, Metric.value
            mine += [step >= begin, step < end]
            found: tuple[Any, ...] = (step, step, step, literal(1), value, value, value)
        else:
            block = MetricBlock
            mine += [block.width == width, block.number >= begin // width, block.number < end // width]
            found = (
                block.number * width,
                block.first_step,
                block.last_step,
                block.count,
                block.total,
                block.low,
                block.high,
            )
        names = ("step", "first_step", "last_step", "count", "total", "low", "high")
        columns: list[Any] = [column.label(name) for column, name in zip(found, names, strict=True)]
        return select(table.name, table.attempt, *columns).where(*mine)


def _write_blocks(session: Session, series: _Series, first: int, last: int) -> None:
    """Compute the blocks that contain these steps again: the smallest from values, the others from smaller blocks."""
    for smaller, width in pairwise((1, *_WIDTHS)):
        parts = series.parts(smaller, first // width * width, (last // width + 1) * width).subquery()
        number = parts.c.step // width
        aggregates = {
            "first_step": func.min(parts.c.first_step),
            "last_step": func.max(parts.c.last_step),
            "count": func.sum(parts.c.count),
            "total": func.sum(parts.c.total),
            "low": func.min(parts.c.low),
            "high": func.max(parts.c.high),
        }
        key: dict[str, Any] = {"job_id": literal(series.job_id), "width": literal(width), "name": parts.c.name}
        key |= {"attempt": parts.c.attempt, "number": number}
        query = select(*key.values(), *aggregates.values()).group_by(parts.c.name, parts.c.attempt, number)
        # Without a WHERE, SQLite parses ON CONFLICT as a part of the query.
        statement = insert_into(session, MetricBlock).from_select([*key, *aggregates], query.where(number >= 0))
        replaced = {name: statement.excluded[name] for name in aggregates}
        session.execute(statement.on_conflict_do_update(index_elements=list(key), set_=replaced))


def names_of_job(session: Session, job_id: int) -> Sequence[str]:
    largest = select(MetricBlock.name).where(MetricBlock.job_id == job_id, MetricBlock.width == _WIDTHS[-1])
    return session.scalars(largest.distinct().order_by(MetricBlock.name)).all()


def series(
    session: Session,
    job_id: int,
    names: Sequence[str],
    max_points: int,
    from_step: int | None = None,
    to_step: int | None = None,
) -> Sequence[Bucket]:
    """Every series of these metrics, reduced to at most `max_points` buckets each; ordered by name, attempt, step.

    Two queries, however many series there are; the database computes the buckets. A range of steps gives more detail:
    the same number of points for fewer steps.
    """
    return _buckets(session, job_id, MetricBlock.name.in_(names), max_points, from_step, to_step)


def series_of_attempt(session: Session, job_id: int, attempt: int, name: str, max_points: int) -> Sequence[Bucket]:
    """As `series`, for one metric of one attempt."""
    return _buckets(session, job_id, (MetricBlock.name == name) & (MetricBlock.attempt == attempt), max_points)


def newest_value(session: Session, job_id: int, attempt: int, name: str) -> float | None:
    mine = (Metric.job_id == job_id, Metric.name == name, Metric.attempt == attempt)
    return session.scalar(select(Metric.value).where(*mine).order_by(Metric.step.desc()).limit(1))


def _buckets(
    session: Session,
    job_id: int,
    which: ColumnElement[bool],
    max_points: int,
    from_step: int | None = None,
    to_step: int | None = None,
) -> Sequence[Bucket]:
    found, first, last = _extent(session, job_id, which)
    first = max(first, from_step or 0)
    last = last if to_step is None else min(last, to_step)
    return _read_buckets(session, found, first, last, max_points) if first <= last else []


def _extent(session: Session, job_id: int, which: ColumnElement[bool]) -> tuple[_Series, int, int]:
    """The series that there are, and their first and last step; 0 and -1 if there are none."""
    largest = (MetricBlock.job_id == job_id, MetricBlock.width == _WIDTHS[-1], which)
    ends = session.execute(
        select(MetricBlock.name, MetricBlock.attempt, func.min(MetricBlock.first_step), func.max(MetricBlock.last_step))
        .where(*largest)
        .group_by(MetricBlock.name, MetricBlock.attempt)
    ).all()
    found = _Series(job_id, sorted({end[0] for end in ends}), sorted({end[1] for end in ends}))
    return found, min((end[2] for end in ends), default=0), max((end[3] for end in ends), default=-1)


def _read_buckets(session: Session, found: _Series, first: int, last: int, max_points: int) -> Sequence[Bucket]:
    size = _block_size(first, last, max_points)
    origin = first // size * size
    width = -(-(last + 1 - origin) // (max_points * size)) * size
    parts = _covering(found, size, first, last + 1).subquery()
    bucket = (parts.c.step - origin) // width
    rows = session.execute(
        select(
            parts.c.name,
            parts.c.attempt,
            func.max(parts.c.last_step),
            func.min(parts.c.low),
            func.max(parts.c.high),
            func.sum(parts.c.total) / func.sum(parts.c.count),
        )
        .group_by(parts.c.name, parts.c.attempt, bucket)
        .order_by(parts.c.name, parts.c.attempt, func.max(parts.c.last_step))
    )
    return [Bucket(*row) for row in rows]


def _block_size(first: int, last: int, max_points: int) -> int:
    """The largest block size with at least two blocks per point: a bucket consists of whole blocks."""
    return max((size for size in _WIDTHS if 2 * size * max_points <= last - first + 1), default=1)


def _covering(found: _Series, size: int, begin: int, end: int) -> Any:
    """The blocks inside the range, and the single values before and after them."""
    inner, outer = -(-begin // size) * size, end // size * size
    if size == 1 or inner >= outer:
        return found.parts(1, begin, end)
    return union_all(found.parts(1, begin, inner), found.parts(size, inner, outer), found.parts(1, outer, end))
