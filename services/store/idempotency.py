"""Idempotency keys: SQL. A key is kept in the transaction that did what it stands for."""

import datetime

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from services.store.models import IdempotencyKey

__all__ = ["KeyTaken", "find", "forget_before", "keep"]


class KeyTaken(Exception):
    """Another request with the same key was first; this transaction is lost."""


def find(session: Session, user_id: int, key: str) -> IdempotencyKey | None:
    return session.get(IdempotencyKey, (user_id, key))


def keep(session: Session, entry: IdempotencyKey) -> None:
    """Raises KeyTaken."""
    session.add(entry)
    try:
        session.flush()
    except IntegrityError:
        raise KeyTaken from None


def forget_before(session: Session, moment: datetime.datetime) -> None:
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < moment))
