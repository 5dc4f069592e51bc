"""SQL for webhooks and the messages to them."""

import datetime
from collections.abc import Collection, Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from services.store.models import Delivery, User, Webhook

__all__ = [
    "add",
    "add_delivery",
    "any_due",
    "count",
    "count_waiting",
    "deliveries",
    "due",
    "forget_before",
    "get",
    "lock",
    "lock_delivery",
    "of_user",
    "remove",
]


def add(session: Session, webhook: Webhook) -> Webhook:
    session.add(webhook)
    session.flush()
    return webhook


def get(session: Session, webhook_id: int) -> Webhook | None:
    return session.get(Webhook, webhook_id)


def lock(session: Session, webhook_id: int) -> Webhook | None:
    return session.scalar(
        select(Webhook).where(Webhook.id == webhook_id).with_for_update().execution_options(populate_existing=True)
    )


def of_user(session: Session, user_id: int) -> Sequence[Webhook]:
    return session.scalars(select(Webhook).where(Webhook.user_id == user_id).order_by(Webhook.id)).all()


def count(session: Session, user_id: int) -> int:
    return session.scalar(select(func.count()).select_from(Webhook).where(Webhook.user_id == user_id)) or 0


def remove(session: Session, webhook: Webhook) -> None:
    session.execute(delete(Delivery).where(Delivery.webhook_id == webhook.id))
    session.delete(webhook)


def add_delivery(session: Session, delivery: Delivery) -> Delivery:
    session.add(delivery)
    session.flush()
    return delivery


def deliveries(session: Session, webhook_id: int, limit: int) -> Sequence[Delivery]:
    """The newest messages first."""
    return session.scalars(
        select(Delivery).where(Delivery.webhook_id == webhook_id).order_by(Delivery.id.desc()).limit(limit)
    ).all()


def any_due(session: Session, now: datetime.datetime) -> bool:
    return session.scalar(select(Delivery.id).where(Delivery.next_at <= now).limit(1)) is not None


def due(
    session: Session, now: datetime.datetime, limit: int, excluded_users: Collection[int]
) -> Sequence[tuple[Delivery, Webhook, bool]]:
    """Due messages, the oldest first, and whether the webhook's owner is disabled.

    Skips messages that another worker has locked, and those of `excluded_users`.
    """
    rows = session.execute(
        select(Delivery, Webhook, User.disabled_at.is_not(None))
        .join(Webhook, Webhook.id == Delivery.webhook_id)
        .join(User, User.id == Webhook.user_id)
        .where(Delivery.next_at <= now, Webhook.user_id.not_in(excluded_users))
        .order_by(Delivery.next_at, Delivery.id)
        .limit(limit)
        .with_for_update(of=Delivery, skip_locked=True)
    )
    return [(delivery, webhook, is_disabled) for delivery, webhook, is_disabled in rows]


def lock_delivery(session: Session, delivery_id: int) -> Delivery | None:
    return session.scalar(select(Delivery).where(Delivery.id == delivery_id).with_for_update())


def count_waiting(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(Delivery).where(Delivery.next_at.is_not(None))) or 0


def forget_before(session: Session, moment: datetime.datetime, limit: int) -> None:
    """Delete up to `limit` finished messages from before `moment`."""
    old = select(Delivery.id).where(Delivery.created_at < moment, Delivery.next_at.is_(None)).limit(limit)
    session.execute(delete(Delivery).where(Delivery.id.in_(old)))
