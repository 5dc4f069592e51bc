"""Logging in with a browser: a session is 256 random bits in a cookie, of which the database holds the digest.

It ends a week after it was last used, a month after it began, at the log-out, and when its user's password changes or
the user is disabled. One that was begun with a token can do no more than that token, and ends with it.
"""

import datetime
import hashlib
import hmac
import logging
import secrets
from dataclasses import dataclass

from services.clock import utc_now
from services.errors import Unauthenticated
from services.store import audit
from services.store import sessions as rows
from services.store.accounts import lock_user, user_called
from services.store.engine import Store, StoreUnavailable
from services.store.models import UserSession
from services.users import passwords
from services.users import principal as accounts
from services.users.principal import Principal, Role

__all__ = [
    "LONGEST",
    "UNKNOWN",
    "UNUSED",
    "Begun",
    "Browser",
    "authenticate",
    "log_in",
    "log_in_with_token",
    "log_out",
    "note_refusal",
]

UNUSED = datetime.timedelta(days=7)
LONGEST = datetime.timedelta(days=30)
_WRONG = "the name or the password is wrong, or the account is disabled"
_TOUCH_EVERY = datetime.timedelta(minutes=1)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Begun:
    """A session that has begun. The secret is for the cookie, and kept nowhere."""

    secret: str
    principal: Principal


@dataclass(frozen=True)
class Browser:
    """What somebody logs in with, as it says itself, and from where."""

    address: str = ""
    user_agent: str = ""


UNKNOWN = Browser()


def log_in(store: Store, name: str, password: str, browser: Browser = UNKNOWN) -> Begun:
    """Raises Unauthenticated, which does not say whether it was the name or the password."""
    with store.reading() as session:
        user = user_called(session, name)
    # Checked before anything else is looked at: how long it takes says nothing about the user.
    is_right = passwords.matches(None if user is None else user.password, password)
    if user is None or not is_right or user.disabled_at is not None:
        # A name that nobody has is not kept: people type their password there.
        note_refusal(store, "an unknown user" if user is None else f"user {user.name}", "password", browser)
        raise Unauthenticated(_WRONG)
    role = Role(user.role)
    return _begin(store, Principal(user.id, user.name, role, accounts.allowed(role)), browser, user.password)


def log_in_with_token(store: Store, token: str, browser: Browser = UNKNOWN) -> Begun:
    """For whoever has a token and no password, as the first admin. Raises Unauthenticated."""
    try:
        return _begin(store, accounts.authenticate(store, token), browser)
    except Unauthenticated:
        note_refusal(store, "an unknown user", "token", browser)
        raise


def note_refusal(store: Store, target: str, given: str, browser: Browser) -> None:
    """Write a wrong password or token into the audit and the log, never what was typed."""
    _log.warning("wrong %s for %s, from %s", given, target, browser.address or "an unknown address")
    try:
        with store.transaction() as session:
            audit.add_few(session, "login.refused", target, utc_now(), given=given, address=browser.address[:64])
    except StoreUnavailable as error:  # it is refused all the same
        _log.warning("a refused log-in is missing in the audit: %s", error)


def _begin(store: Store, principal: Principal, browser: Browser, password: str | None = None) -> Begun:
    """`password`: as it was kept when it was checked. One that was changed since begins nothing."""
    now, secret = utc_now(), secrets.token_urlsafe(32)
    with store.transaction() as session:
        user = lock_user(session, principal.name)
        if user is None or user.disabled_at is not None or (password is not None and user.password != password):
            raise Unauthenticated(_WRONG)
        rows.forget_expired(session, principal.user_id, now)
        row = UserSession(
            user_id=principal.user_id,
            token_id=principal.token_id,
            digest=accounts.digest_of(secret),
            user_agent="".join(letter for letter in browser.user_agent if letter.isprintable())[:256],
            created_at=now,
            last_used_at=now,
            expires_at=now + UNUSED,
        )
        rows.add(session, row)
        audit.add(session, principal.user_id, "session.begin", f"user {principal.name}", now, address=browser.address)
    return Begun(secret, _principal(row, principal, secret))


def authenticate(store: Store, secret: str, now: datetime.datetime | None = None) -> Principal:
    """Whose session this is. Raises Unauthenticated."""
    now = now or utc_now()
    refused = Unauthenticated("you are no longer logged in: log in again")
    if not secret.isascii() or not 0 < len(secret) <= 128:
        raise refused
    digest = accounts.digest_of(secret)
    with store.reading() as session:
        found = rows.find(session, digest)
    if found is None or not hmac.compare_digest(found.session.digest, digest):
        raise refused
    row, user, token = found.session, found.user, found.token
    if row.expires_at <= now or user.disabled_at is not None or (token and not accounts.is_valid(token, now)):
        raise refused
    if row.last_used_at <= now - _TOUCH_EVERY:
        _touch(store, row, now)
    role = Role(user.role)
    scopes = accounts.allowed(role) & (accounts.including(token.scopes) if token else accounts.allowed(role))
    ends = token.expires_at if token else None
    return _principal(row, Principal(user.id, user.name, role, scopes, row.token_id, ends), secret)


def _principal(row: UserSession, principal: Principal, secret: str) -> Principal:
    csrf = hmac.new(secret.encode(), b"downshift csrf", hashlib.sha256).hexdigest()
    return Principal(
        principal.user_id,
        principal.name,
        principal.role,
        principal.scopes,
        principal.token_id,
        principal.expires_at,
        session_id=row.id,
        csrf=csrf,
    )


def _touch(store: Store, row: UserSession, now: datetime.datetime) -> None:
    """The week begins anew, to the minute, and later: who reads does not wait for those who write."""
    session_id, until = row.id, min(now + UNUSED, row.created_at + LONGEST)
    store.later.put(("session", session_id), lambda session: rows.touch(session, session_id, now, until))


def log_out(store: Store, principal: Principal) -> None:
    """The session ends. Without one nothing happens."""
    if principal.session_id is not None:
        with store.transaction() as session:
            rows.end(session, principal.session_id)
            audit.add(session, principal.user_id, "session.end", f"user {principal.name}", utc_now())
