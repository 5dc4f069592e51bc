"""SQL for idempotency keys. A key is stored in the transaction that does the request's work."""

import datetime

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from services.store.models import IdempotencyKey

__all__ = ["KeyTaken", "add", "find", "forget_before"]


class KeyTaken(Exception):
    """Another request with the same key was faster; this transaction must be rolled back."""


def find(session: Session, user_id: int, key: str) -> IdempotencyKey | None:
    return session.get(IdempotencyKey, (user_id, key))


def add(session: Session, entry: IdempotencyKey) -> None:
    """Raises KeyTaken."""
    session.add(entry)
    try:
        session.flush()
    except IntegrityError:
        raise KeyTaken from None


def forget_before(session: Session, moment: datetime.datetime) -> None:
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < moment))
