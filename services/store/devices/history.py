"""SQL for past samples of devices."""

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from services.store.models import DevicePast

__all__ = ["add_many", "forget_before", "newest", "since"]


def newest(session: Session, device_ids: Iterable[str]) -> dict[str, datetime.datetime]:
    """The time of each device's newest sample."""
    rows = session.execute(
        select(DevicePast.device_id, func.max(DevicePast.at))
        .where(DevicePast.device_id.in_(list(device_ids)))
        .group_by(DevicePast.device_id)
    )
    return dict(rows.all())


def add_many(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        session.execute(insert(DevicePast), rows)


def forget_before(session: Session, moment: datetime.datetime) -> None:
    session.execute(delete(DevicePast).where(DevicePast.at < moment))


def since(session: Session, device_id: str, moment: datetime.datetime) -> Sequence[DevicePast]:
    """The samples from `moment` on, oldest first."""
    return session.scalars(
        select(DevicePast).where(DevicePast.device_id == device_id, DevicePast.at >= moment).order_by(DevicePast.at)
    ).all()
