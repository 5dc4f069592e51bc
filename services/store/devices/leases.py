"""Leases: SQL. A lease is held by whoever knows its token; anybody else's write changes nothing."""

import datetime
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from services.store.models import Job, Lease

__all__ = ["AlreadyLeased", "held", "holders", "of_host", "of_job", "release", "renew", "take"]


class AlreadyLeased(Exception):
    """The device or the job has a lease; this transaction is lost."""


def take(session: Session, lease: Lease) -> None:
    """Raises AlreadyLeased."""
    session.add(lease)
    try:
        session.flush()
    except IntegrityError:
        raise AlreadyLeased from None


def held(session: Session, job_id: int, token: str) -> Lease | None:
    """The lease, locked, if `token` still holds it."""
    return session.scalar(select(Lease).where(Lease.job_id == job_id, Lease.token == token).with_for_update())


def renew(session: Session, job_id: int, token: str, until: datetime.datetime) -> bool:
    result = session.execute(update(Lease).where(Lease.job_id == job_id, Lease.token == token).values(expires_at=until))
    return cast("CursorResult[Any]", result).rowcount == 1


def release(session: Session, job_id: int, token: str) -> None:
    session.execute(delete(Lease).where(Lease.job_id == job_id, Lease.token == token))


def holders(session: Session) -> Sequence[tuple[str, int, int]]:
    """Each leased device with its job and that job's owner."""
    rows = session.execute(select(Lease.device_id, Job.id, Job.owner_id).join(Job, Job.id == Lease.job_id))
    return [(device_id, job_id, owner_id) for device_id, job_id, owner_id in rows]


def of_host(session: Session, host: str) -> Sequence[Lease]:
    return session.scalars(select(Lease).where(Lease.host == host)).all()


def of_job(session: Session, job_id: int) -> Lease | None:
    return session.scalar(select(Lease).where(Lease.job_id == job_id))
