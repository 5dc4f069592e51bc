"""Authenticate callers by token, and check their rights. `services.users.tokens` creates and revokes tokens.

A token is 256 random bits. It is shown once, when it is created; the database holds its digest only.
"""

import datetime
import enum
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from services.clock import utc_now
from services.domain.jobs.limits import Limits
from services.durable_file import write_durably
from services.errors import Conflict, Fault, Forbidden, Invalid, Unauthenticated
from services.settings import Settings
from services.store.engine import Store
from services.store.models import Token, User
from services.store.users import accounts, audit
from services.users import passwords

__all__ = [
    "Principal",
    "Role",
    "Scope",
    "add_user",
    "authenticate",
    "check_new_user",
    "create_user",
    "digest_of",
    "ensure_admin",
    "expand_scopes",
    "is_valid",
    "join_scopes",
    "local_principal",
    "new_token",
    "scopes_of_role",
]

ADMIN = "admin"
LOCAL = "local"
NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
NO_LIMITS = Limits()
_PREFIX = "dsh_"  # lets secret scanners recognise a leaked token
_LONGEST_TOKEN = 128
_TOUCH_EVERY = datetime.timedelta(minutes=1)


class Role(enum.StrEnum):
    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"


class Scope(enum.StrEnum):
    """What a token may be used for. Each scope includes those before it."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


_HIGHEST: dict[Role, Scope] = {Role.VIEWER: Scope.READ, Role.MEMBER: Scope.SUBMIT, Role.ADMIN: Scope.ADMIN}


@dataclass(frozen=True)
class Principal:
    """The authenticated caller. `scopes`: those of the token that the user's current role allows."""

    user_id: int
    name: str
    role: Role
    scopes: frozenset[Scope]
    token_id: int | None = None
    expires_at: datetime.datetime | None = None
    session_id: int | None = None  # set if the caller is logged in with a browser
    csrf: str | None = None  # the value that only our own pages can send along with the session's cookie
    sees_others: bool = True  # false where jobs are private

    @property
    def is_admin(self) -> bool:
        return Scope.ADMIN in self.scopes

    @property
    def sees_only(self) -> int | None:
        """The only user whose jobs the caller may see; None: all users."""
        return None if self.sees_others else self.user_id

    def sees(self, owner_id: int) -> bool:
        return self.sees_others or owner_id == self.user_id

    def with_privacy(self, *, jobs_are_private: bool) -> "Principal":
        """The same caller under this setting. Users with the role admin see all jobs, whatever their token's scopes."""
        return replace(self, sees_others=not jobs_are_private or self.role is Role.ADMIN)

    def require(self, scope: Scope) -> None:
        """Raises Forbidden."""
        if scope not in self.scopes:
            raise Forbidden(f"this needs a token with the scope {scope!s}; yours has {join_scopes(self.scopes)}")

    def require_change(self, owner_id: int) -> None:
        """Raises Forbidden unless the caller may change what `owner_id` owns."""
        self.require(Scope.SUBMIT)
        if owner_id != self.user_id and not self.is_admin:
            raise Forbidden("this belongs to another user: only its owner and admins can change it")


def expand_scopes(scopes: Iterable[str]) -> frozenset[Scope]:
    """The scopes, and all scopes that they include."""
    order = list(Scope)
    highest = max((order.index(Scope(scope)) for scope in scopes), default=-1)
    return frozenset(order[: highest + 1])


def scopes_of_role(role: Role) -> frozenset[Scope]:
    """All scopes that a user with this role may have."""
    return expand_scopes([_HIGHEST[role]])


def join_scopes(scopes: Collection[Scope]) -> str:
    return ", ".join(scope for scope in Scope if scope in scopes) or "none"


def new_token(
    session: Session,
    user: User,
    name: str,
    scopes: Collection[Scope],
    expires_at: datetime.datetime | None,
    now: datetime.datetime,
) -> tuple[Token, str]:
    """The new row and the secret, which is stored nowhere."""
    secret = _PREFIX + secrets.token_urlsafe(32)
    token = Token(
        user_id=user.id,
        name=name,
        digest=digest_of(secret),
        scopes=[str(scope) for scope in Scope if scope in scopes],
        created_at=now,
        expires_at=expires_at,
    )
    return accounts.add_token(session, token), secret


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def ensure_admin(store: Store, settings: Settings) -> str | None:
    """If there is no user yet, create `admin` with a token, write it to HOME/admin-token and return it.

    The file is written before the commit. A crash in between leaves a file that the next start replaces; it cannot
    leave an admin without a known token.
    """
    now = utc_now()
    with store.reading() as session:
        if accounts.has_users(session):  # the usual case needs no write lock
            return None
    with store.transaction() as session:
        if accounts.has_users(session):
            return None
        user = accounts.add_user(session, ADMIN, Role.ADMIN, now)
        if user is None:  # another process was faster
            return None
        secret = new_token(session, user, "first", [Scope.ADMIN], None, now)[1]
        write_durably(settings.admin_token_file, secret + "\n", mode=0o600)
    return secret


def authenticate(store: Store, token: str, now: datetime.datetime | None = None) -> Principal:
    """The owner of this token. Raises Unauthenticated, with the same message for every reason."""
    now = now or utc_now()
    refused = Unauthenticated("the token is not valid: it is unknown, expired or revoked")
    if not token or len(token) > _LONGEST_TOKEN or not token.isascii():
        raise refused
    digest = digest_of(token)
    with store.reading() as session:
        found = accounts.find_token(session, digest)
    if found is None or not hmac.compare_digest(found[0].digest, digest):
        raise refused
    row, user = found
    if user.disabled_at is not None or not is_valid(row, now):
        raise refused
    _touch(store, row, now)
    role = Role(user.role)
    scopes = expand_scopes(row.scopes) & scopes_of_role(role)
    return Principal(user.id, user.name, role, scopes, row.id, row.expires_at)


def is_valid(token: Token, now: datetime.datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _touch(store: Store, token: Token, now: datetime.datetime) -> None:
    """Record the last use, to the minute. Written later, so that a read request does not wait for the write lock."""
    if token.last_used_at is None or token.last_used_at <= now - _TOUCH_EVERY:
        token_id = token.id
        store.later.put(("token", token_id), lambda session: accounts.touch(session, token_id, now, now - _TOUCH_EVERY))


def local_principal(store: Store) -> Principal:
    """The caller where authentication is off: an admin called `local`, created when first needed."""
    with store.reading() as session:
        user = accounts.user_called(session, LOCAL)
    if user is None:
        with store.transaction() as session:
            user = accounts.add_user(session, LOCAL, Role.ADMIN, utc_now()) or accounts.user_called(session, LOCAL)
    assert user is not None
    return Principal(user.id, user.name, Role.ADMIN, frozenset(Scope))


def create_user(
    store: Store,
    principal: Principal,
    name: str,
    role: Role,
    *,
    password: str | None = None,
) -> int:
    """Returns the user's id. Without a password the user can only log in with a token.

    Raises Forbidden, Invalid, Conflict("name_taken").
    """
    principal.require(Scope.ADMIN)
    new_user = check_new_user(name, role, password, NO_LIMITS)
    with store.transaction() as session:
        return add_user(session, principal, new_user).id


@dataclass(frozen=True)
class _NewUser:
    name: str
    role: Role
    password_hash: str | None
    limits: Limits


def add_user(session: Session, principal: Principal, new: _NewUser) -> User:
    """Raises Conflict("name_taken")."""
    now = utc_now()
    user = accounts.add_user(session, new.name, new.role, now)
    if user is None:
        raise Conflict("name_taken", f"a user called {new.name!r} already exists")
    user.password = new.password_hash
    user.max_queued, user.max_running = new.limits.max_queued, new.limits.max_running
    user.device_hours_week = new.limits.device_hours_week
    session.flush()
    audit.add(session, principal.user_id, "user.create", f"user {new.name}", now, role=str(new.role))
    return user


def check_new_user(name: str, role: Role, password: str | None, limits: Limits) -> _NewUser:
    """Check the name and the password, and hash the password. Takes tenths of a second. Raises Invalid."""
    if not NAME.fullmatch(name):
        raise Invalid(
            [Fault("name", "use at most 64 lower-case letters, digits and . _ @ -, starting with a letter or digit")]
        )
    if name in (LOCAL, "me"):
        raise Invalid([Fault("name", f"{name!r} is reserved: choose another name")])
    password_hash = None if password is None else passwords.hash_password(password, name)
    return _NewUser(name, role, password_hash, limits)
