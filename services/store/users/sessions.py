"""SQL for the sessions of logged-in users. Of a session's secret, only the digest is stored."""

import datetime
from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from services.store.models import Token, User, UserSession

__all__ = ["add", "end", "end_all", "find", "forget_expired", "touch"]


@dataclass(frozen=True)
class FoundSession:
    session: UserSession
    user: User
    token: Token | None  # that the session was started with


def add(session: Session, row: UserSession) -> UserSession:
    session.add(row)
    session.flush()
    return row


def find(session: Session, digest: str) -> FoundSession | None:
    row = session.execute(
        select(UserSession, User, Token)
        .join(User, User.id == UserSession.user_id)
        .outerjoin(Token, Token.id == UserSession.token_id)
        .where(UserSession.digest == digest)
    ).one_or_none()
    return None if row is None else FoundSession(row[0], row[1], row[2])


def touch(session: Session, session_id: int, now: datetime.datetime, until: datetime.datetime) -> None:
    """Record a use and extend the session, unless it has expired."""
    is_this = (UserSession.id == session_id, UserSession.expires_at > now)
    session.execute(update(UserSession).where(*is_this).values(last_used_at=now, expires_at=until))


def end(session: Session, session_id: int) -> None:
    session.execute(delete(UserSession).where(UserSession.id == session_id))


def end_all(session: Session, user_id: int, but: int | None = None) -> None:
    """End all sessions of this user except `but`."""
    query = delete(UserSession).where(UserSession.user_id == user_id)
    session.execute(query if but is None else query.where(UserSession.id != but))


def forget_expired(session: Session, user_id: int, now: datetime.datetime) -> None:
    session.execute(delete(UserSession).where(UserSession.user_id == user_id, UserSession.expires_at <= now))
