"""SQL for users and their tokens. Of a token, only the digest is stored."""

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, func, literal, or_, select, union_all, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from services.store.models import Token, User, UserSession

__all__ = [
    "add_token",
    "add_user",
    "count_valid_tokens",
    "find_token",
    "get_token",
    "has_users",
    "lock_admins",
    "lock_user",
    "names_of",
    "revoke",
    "tokens",
    "touch",
    "user_called",
    "users",
    "valid_credentials",
    "versions",
]


def has_users(session: Session) -> bool:
    return session.scalar(select(User.id).limit(1)) is not None


def user_called(session: Session, name: str) -> User | None:
    return session.scalar(select(User).where(User.name == name))


def lock_user(session: Session, name: str) -> User | None:
    """Read the user again, and lock the row until the end of this transaction."""
    query = select(User).where(User.name == name).with_for_update(key_share=True)
    return session.scalar(query.execution_options(populate_existing=True))


def lock_admins(session: Session) -> Sequence[User]:
    """Lock all enabled admins, so that two who disable each other at once cannot both succeed."""
    query = select(User).where(User.role == "admin", User.disabled_at.is_(None)).order_by(User.id)
    return session.scalars(query.with_for_update(key_share=True).execution_options(populate_existing=True)).all()


def users(session: Session) -> Sequence[User]:
    return session.scalars(select(User).order_by(User.name)).all()


def versions(session: Session) -> dict[int, int]:
    """The version of each user by id; it grows with every change of the account."""
    return dict(session.execute(select(User.id, User.version)).all())


def add_user(session: Session, name: str, role: str, now: datetime.datetime) -> User | None:
    """None if the name is taken, also by a concurrent transaction."""
    user = User(name=name, role=role, created_at=now)
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError:
        return None
    return user


def names_of(session: Session, user_ids: Iterable[int]) -> dict[int, str]:
    rows = session.execute(select(User.id, User.name).where(User.id.in_(set(user_ids))))
    return dict(rows.all())


def add_token(session: Session, token: Token) -> Token:
    session.add(token)
    session.flush()
    return token


def find_token(session: Session, digest: str) -> tuple[Token, User] | None:
    row = session.execute(
        select(Token, User).join(User, User.id == Token.user_id).where(Token.digest == digest)
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def get_token(session: Session, token_id: int) -> Token | None:
    return session.get(Token, token_id)


def tokens(session: Session, user_id: int | None, since: datetime.datetime) -> Sequence[tuple[Token, str]]:
    """The tokens of one user, or of all (None), with the user's name, newest first; without those that ended before
    `since`."""
    query = select(Token, User.name).join(User, User.id == Token.user_id).order_by(Token.id.desc())
    for end in (Token.revoked_at, Token.expires_at):
        query = query.where(or_(end.is_(None), end >= since))
    if user_id is not None:
        query = query.where(Token.user_id == user_id)
    return [(token, name) for token, name in session.execute(query)]


def count_valid_tokens(session: Session, user_id: int, now: datetime.datetime) -> int:
    valid = select(func.count()).select_from(Token).where(Token.user_id == user_id, *_is_valid(now))
    return session.scalar(valid) or 0


def _is_valid(now: datetime.datetime) -> tuple[ColumnElement[bool], ...]:
    return Token.revoked_at.is_(None), or_(Token.expires_at.is_(None), Token.expires_at > now)


def touch(session: Session, token_id: int, now: datetime.datetime, not_since: datetime.datetime) -> bool:
    """Record the use of a token, unless one after `not_since` is recorded."""
    result = session.execute(
        update(Token)
        .where(Token.id == token_id, or_(Token.last_used_at.is_(None), Token.last_used_at <= not_since))
        .values(last_used_at=now)
        .execution_options(synchronize_session=False)
    )
    return cast("CursorResult[Any]", result).rowcount == 1


def revoke(session: Session, token_id: int, now: datetime.datetime) -> bool:
    """False if it is revoked already."""
    result = session.execute(
        update(Token)
        .where(Token.id == token_id, Token.revoked_at.is_(None))
        .values(revoked_at=now)
        .execution_options(synchronize_session=False)
    )
    return cast("CursorResult[Any]", result).rowcount == 1


@dataclass(frozen=True)
class ValidCredentials:
    roles: dict[int, str]  # of the enabled users, by user id
    tokens: set[int]
    sessions: set[int]


def valid_credentials(
    session: Session,
    user_ids: Collection[int],
    token_ids: Collection[int],
    session_ids: Collection[int],
    now: datetime.datetime,
) -> ValidCredentials:
    """Those of the given users, tokens and sessions that are valid, in one query.

    Does not check whose a token or session is: that never changes.
    """
    rows = session.execute(
        union_all(
            select(literal("user"), User.id, User.role).where(User.id.in_(user_ids), User.disabled_at.is_(None)),
            select(literal("token"), Token.id, literal("")).where(Token.id.in_(token_ids), *_is_valid(now)),
            select(literal("session"), UserSession.id, literal("")).where(
                UserSession.id.in_(session_ids), UserSession.expires_at > now
            ),
        )
    ).all()
    return ValidCredentials(
        {number: role for kind, number, role in rows if kind == "user"},
        {number for kind, number, _ in rows if kind == "token"},
        {number for kind, number, _ in rows if kind == "session"},
    )
