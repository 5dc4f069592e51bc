"""Log in with a browser. A session is 256 random bits in a cookie; the database holds the digest only.

It ends a week after its last use, a month after its start, at log-out, and when the user's password changes or the
user is disabled. A session that was started with a token has no more rights than the token and ends with it.
"""

import dataclasses
import datetime
import hashlib
import hmac
import logging
import secrets
from dataclasses import dataclass

from services.clock import utc_now
from services.errors import Unauthenticated
from services.store.engine import Store, StoreUnavailable
from services.store.models import UserSession
from services.store.users import audit
from services.store.users import sessions as rows
from services.store.users.accounts import lock_user, user_called
from services.users import passwords
from services.users import principal as principals
from services.users.principal import Principal, Role

__all__ = [
    "MAX_AGE",
    "Browser",
    "authenticate",
    "log_in",
    "log_in_with_token",
    "log_out",
    "record_refusal",
]

MAX_AGE = datetime.timedelta(days=30)
_MAX_IDLE = datetime.timedelta(days=7)
_WRONG = "the name or the password is wrong, or the account is disabled"
_TOUCH_EVERY = datetime.timedelta(minutes=1)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NewSession:
    """A new session. The secret goes into the cookie and is stored nowhere."""

    secret: str
    principal: Principal


@dataclass(frozen=True)
class Browser:
    """The client of a log-in: its address, and the user agent that it claims to be."""

    address: str = ""
    user_agent: str = ""


_UNKNOWN_BROWSER = Browser()


def log_in(store: Store, name: str, password: str, browser: Browser = _UNKNOWN_BROWSER) -> NewSession:
    """Raises Unauthenticated, which does not tell whether the name or the password is wrong."""
    with store.reading() as session:
        user = user_called(session, name)
    # Hash the password first: the time must not reveal whether the user exists or is disabled.
    is_right = passwords.matches(None if user is None else user.password, password)
    if user is None or not is_right or user.disabled_at is not None:
        # Do not log an unknown name: people type their password into the wrong field.
        record_refusal(store, "an unknown user" if user is None else f"user {user.name}", "password", browser)
        raise Unauthenticated(_WRONG)
    role = Role(user.role)
    caller = Principal(user.id, user.name, role, principals.scopes_of_role(role))
    return _start(store, caller, browser, user.password)


def log_in_with_token(store: Store, token: str, browser: Browser = _UNKNOWN_BROWSER) -> NewSession:
    """For users without a password, such as the first admin. Raises Unauthenticated."""
    try:
        return _start(store, principals.authenticate(store, token), browser)
    except Unauthenticated:
        record_refusal(store, "an unknown user", "token", browser)
        raise


def record_refusal(store: Store, target: str, given: str, browser: Browser) -> None:
    """Write a refused log-in to the audit and the log, without the password or token that was sent."""
    _log.warning("wrong %s for %s, from %s", given, target, browser.address or "an unknown address")
    try:
        with store.transaction() as session:
            audit.add_few(session, "login.refused", target, utc_now(), given=given, address=browser.address[:64])
    except StoreUnavailable as error:  # refuse the log-in anyway
        _log.warning("a refused log-in is missing in the audit: %s", error)


def _start(store: Store, principal: Principal, browser: Browser, password_hash: str | None = None) -> NewSession:
    """`password_hash`: the one that was checked. Raises Unauthenticated if the password has changed since."""
    now, secret = utc_now(), secrets.token_urlsafe(32)
    with store.transaction() as session:
        user = lock_user(session, principal.name)
        if (
            user is None
            or user.disabled_at is not None
            or (password_hash is not None and user.password != password_hash)
        ):
            raise Unauthenticated(_WRONG)
        rows.forget_expired(session, principal.user_id, now)
        row = UserSession(
            user_id=principal.user_id,
            token_id=principal.token_id,
            digest=principals.digest_of(secret),
            user_agent="".join(letter for letter in browser.user_agent if letter.isprintable())[:256],
            created_at=now,
            last_used_at=now,
            expires_at=now + _MAX_IDLE,
        )
        rows.add(session, row)
        audit.add(session, principal.user_id, "session.begin", f"user {principal.name}", now, address=browser.address)
    return NewSession(secret, _principal(row, principal, secret))


def authenticate(store: Store, secret: str, now: datetime.datetime | None = None) -> Principal:
    """The user of this session. Raises Unauthenticated."""
    now = now or utc_now()
    refused = Unauthenticated("you are no longer logged in: log in again")
    if not secret.isascii() or not 0 < len(secret) <= 128:
        raise refused
    digest = principals.digest_of(secret)
    with store.reading() as session:
        found = rows.find(session, digest)
    if found is None or not hmac.compare_digest(found.session.digest, digest):
        raise refused
    row, user, token = found.session, found.user, found.token
    if row.expires_at <= now or user.disabled_at is not None or (token and not principals.is_valid(token, now)):
        raise refused
    if row.last_used_at <= now - _TOUCH_EVERY:
        _touch(store, row, now)
    role = Role(user.role)
    scopes = principals.scopes_of_role(role)
    if token:
        scopes &= principals.expand_scopes(token.scopes)
    expires_at = token.expires_at if token else None
    return _principal(row, Principal(user.id, user.name, role, scopes, row.token_id, expires_at), secret)


def _principal(row: UserSession, principal: Principal, secret: str) -> Principal:
    csrf = hmac.new(secret.encode(), b"downshift csrf", hashlib.sha256).hexdigest()
    return dataclasses.replace(principal, session_id=row.id, csrf=csrf)


def _touch(store: Store, row: UserSession, now: datetime.datetime) -> None:
    """Extend the session, to the minute. Written later, so that a read request does not wait for the write lock."""
    session_id, until = row.id, min(now + _MAX_IDLE, row.created_at + MAX_AGE)
    store.later.put(("session", session_id), lambda session: rows.touch(session, session_id, now, until))


def log_out(store: Store, principal: Principal) -> None:
    """End the caller's session, if there is one."""
    if principal.session_id is not None:
        with store.transaction() as session:
            rows.end(session, principal.session_id)
            audit.add(session, principal.user_id, "session.end", f"user {principal.name}", utc_now())
