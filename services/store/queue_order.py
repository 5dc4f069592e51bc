"""The order of the queue: SQL. The claims and the positions that people see are made from this one expression.

Priority first, then the owner's fair share (`services.domain.jobs.fair_share`), then the oldest. Behind all others are
jobs that cannot start now: by themselves, because of their owner's limits, or because the last try found no device for
them (they have a `waiting_for`). The last are still tried, in their turn, in case there is a device by now, and keep no
other job of their owner from its turn. Only indexes are read for it.
"""

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Subquery, case, func, literal, or_, select
from sqlalchemy.orm import Session

from services.domain.jobs.fair_share import STARTED_S, Share
from services.domain.jobs.states import State
from services.store.models import Job

__all__ = ["Place", "claimable", "first", "head"]

_ANY = 2**31 - 1  # jobs: more than there will be

Shares = Mapping[int, Share]


def claimable(session: Session, shares: Shares, now: datetime.datetime) -> Sequence[int]:
    """The numbers of the queued jobs that may start now, where there is a device for them."""
    order = _order(shares, now)
    turn = (order.c.priority.desc(), order.c.turn, order.c.id)
    return session.scalars(select(order.c.id).where(order.c.behind == 0).order_by(*turn)).all()


class Place(NamedTuple):
    """Of a queued job. `turn`: 1 is tried first; None where the job may not start, whatever devices are free.

    Jobs that found no device keep their turn, although their position is behind all others.
    """

    job_id: int
    position: int
    turn: int | None


def head(
    session: Session, shares: Shares, now: datetime.datetime, limit: int, job_ids: Collection[int] = ()
) -> Sequence[Place]:
    """The places of the first jobs by position and by turn, and of these jobs."""
    order = _order(shares, now)
    rank = func.row_number().over(order_by=(order.c.behind, order.c.priority.desc(), order.c.turn, order.c.id))
    ranked = select(order.c.id, order.c.position, order.c.behind, rank.label("rank")).subquery()
    wanted = or_(ranked.c.position <= limit, ranked.c.rank <= limit, ranked.c.id.in_(list(job_ids)))
    rows = session.execute(select(ranked).where(wanted).order_by(ranked.c.position))
    return [Place(job_id, position, None if behind else rank) for job_id, position, behind, rank in rows]


def first(
    session: Session, shares: Shares, now: datetime.datetime, limit: int, owner_id: int | None = None
) -> tuple[Sequence[Job], dict[int, int]]:
    """The first jobs of the queue, everybody's or one owner's, and their positions in all of it."""
    order = _order(shares, now)
    query = select(order.c.id, order.c.position).order_by(order.c.position).limit(limit)
    if owner_id is not None:
        query = query.where(order.c.owner_id == owner_id)
    found: dict[int, int] = dict(session.execute(query).all())
    jobs = session.scalars(select(Job).where(Job.id.in_(list(found)))).all()
    return sorted(jobs, key=lambda job: found[job.id]), found


def _order(shares: Shares, now: datetime.datetime) -> Subquery:
    """Columns: id, owner_id, priority, turn, behind (1: may not start now, whatever devices there are), position."""
    without_device = select(Job.id).where(Job.state == State.QUEUED, Job.waiting_for.is_not(None))
    later = case((Job.not_before > now, 1), else_=0)
    stuck = case((Job.id.in_(without_device), 1), else_=0)
    own = func.row_number().over(partition_by=(Job.owner_id, later, stuck), order_by=(Job.priority.desc(), Job.id))
    columns = (Job.id, Job.owner_id, Job.priority, later.label("later"), stuck.label("stuck"), (own - 1).label("ahead"))
    waiting = select(*columns).where(Job.state == State.QUEUED).subquery()
    slots = _of_owner(waiting.c.owner_id, {user: share.slots for user, share in shares.items()}, None, _ANY)
    use = _of_owner(waiting.c.owner_id, {user: share.use_s for user, share in shares.items()}, 0.0, 0.0)
    behind = case((waiting.c.ahead >= slots, 1), else_=waiting.c.later)
    turn = use + waiting.c.ahead * STARTED_S
    last = case((waiting.c.stuck == 1, 1), else_=behind)
    position = func.row_number().over(order_by=(last, waiting.c.priority.desc(), turn, waiting.c.id))
    return select(
        waiting.c.id,
        waiting.c.owner_id,
        waiting.c.priority,
        turn.label("turn"),
        behind.label("behind"),
        position.label("position"),
    ).subquery()


def _of_owner(owner: ColumnElement[int], values: Mapping[int, Any], usual: Any, otherwise: Any) -> ColumnElement[Any]:
    """A value for each owner. Only those who differ are named: most have no limit and used nothing lately."""
    named = {user: value for user, value in values.items() if value != usual}
    return case(named, value=owner, else_=otherwise) if named else literal(otherwise)
