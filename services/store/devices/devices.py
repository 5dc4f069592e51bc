"""Devices: SQL."""

import datetime
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from services.store.models import Device, Lease

__all__ = ["get", "of_host", "remove", "seen_since", "unleased"]


def get(session: Session, device_id: str) -> Device | None:
    return session.get(Device, device_id)


def of_host(session: Session, host: str) -> Sequence[Device]:
    return session.scalars(select(Device).where(Device.host == host)).all()


def seen_since(session: Session, moment: datetime.datetime) -> Sequence[Device]:
    """The devices that are there: their hosts have reported them since `moment`."""
    return session.scalars(select(Device).where(Device.seen_at >= moment)).all()


def unleased(session: Session, host: str, since: datetime.datetime) -> Sequence[Device]:
    """The host's devices that nothing of ours runs on and nothing is wrong with, the smallest first.

    One with a baseline was ours a moment ago; its host has yet to see that the memory is free again.
    """
    return session.scalars(
        select(Device)
        .outerjoin(Lease, Lease.device_id == Device.id)
        .where(
            Device.host == host,
            Device.seen_at >= since,
            Device.problem.is_(None),
            Device.baseline_bytes.is_(None),
            Lease.device_id.is_(None),
        )
        .order_by(Device.total_bytes, Device.index)
    ).all()


def remove(session: Session, device: Device) -> None:
    session.delete(device)
