"""Who may do what: users, and what a token of theirs is good for. How tokens come and go is `services.users.tokens`.

A token is 256 random bits. It is shown once, when it is made; the database holds its digest only.
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
from services.store import accounts, audit
from services.store.engine import Store
from services.store.models import Token, User
from services.users import passwords

__all__ = [
    "Principal",
    "Role",
    "Scope",
    "add_user",
    "allowed",
    "authenticate",
    "checked",
    "create_user",
    "digest_of",
    "ensure_admin",
    "including",
    "is_valid",
    "listed",
    "local_principal",
    "new_token",
]

ADMIN = "admin"
LOCAL = "local"
NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
NO_LIMITS = Limits()
_PREFIX = "dsh_"  # so that a token that leaked is recognised for what it is
_LONGEST_TOKEN = 128
_TOUCH_EVERY = datetime.timedelta(minutes=1)


class Role(enum.StrEnum):
    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"


class Scope(enum.StrEnum):
    """What a token is good for. Each includes the ones before it."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


_MOST: dict[Role, Scope] = {Role.VIEWER: Scope.READ, Role.MEMBER: Scope.SUBMIT, Role.ADMIN: Scope.ADMIN}


@dataclass(frozen=True)
class Principal:
    """Who is asking. `scopes` are those of the token that the user's role still allows."""

    user_id: int
    name: str
    role: Role
    scopes: frozenset[Scope]
    token_id: int | None = None
    expires_at: datetime.datetime | None = None
    session_id: int | None = None  # of one who is logged in
    csrf: str | None = None  # what a page of ours, and no other, can send along with the session's cookie
    sees_others: bool = True  # false where jobs are private

    @property
    def is_admin(self) -> bool:
        return Scope.ADMIN in self.scopes

    @property
    def sees_only(self) -> int | None:
        """The one user whose jobs this one may see; None: everybody's."""
        return None if self.sees_others else self.user_id

    def sees(self, owner_id: int) -> bool:
        return self.sees_others or owner_id == self.user_id

    def where(self, *, jobs_are_private: bool) -> "Principal":
        """The same, as far as the setting lets this one see others' jobs: admins, with whatever token, see all."""
        return replace(self, sees_others=not jobs_are_private or self.role is Role.ADMIN)

    def require(self, scope: Scope) -> None:
        """Raises Forbidden."""
        if scope not in self.scopes:
            raise Forbidden(f"this needs a token with the scope {scope!s}; yours has {listed(self.scopes)}")

    def require_change(self, owner_id: int) -> None:
        """May this one change what `owner_id` owns? Raises Forbidden."""
        self.require(Scope.SUBMIT)
        if owner_id != self.user_id and not self.is_admin:
            raise Forbidden("this belongs to another user: only its owner and admins can change it")


def including(scopes: Iterable[str]) -> frozenset[Scope]:
    """The scopes with all that they include."""
    order = list(Scope)
    most = max((order.index(Scope(scope)) for scope in scopes), default=-1)
    return frozenset(order[: most + 1])


def allowed(role: Role) -> frozenset[Scope]:
    """What one with this role can do at most."""
    return including([_MOST[role]])


def listed(scopes: Collection[Scope]) -> str:
    return ", ".join(scope for scope in Scope if scope in scopes) or "none"


def new_token(
    session: Session,
    user: User,
    name: str,
    scopes: Collection[Scope],
    expires_at: datetime.datetime | None,
    now: datetime.datetime,
) -> tuple[Token, str]:
    """The row, and the secret that nobody can have again."""
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
    """Where there is no user yet: make `admin` with a token, write it to HOME/admin-token, and return it.

    The file is written before the commit: a crash in between leaves a file that the next start replaces, never an
    admin whose token nobody has.
    """
    now = utc_now()
    with store.reading() as session:
        if accounts.has_users(session):  # the usual case, for which nobody has to wait for the write lock
            return None
    with store.transaction() as session:
        if accounts.has_users(session):
            return None
        user = accounts.add_user(session, ADMIN, Role.ADMIN, now)
        if user is None:  # another process was a moment faster
            return None
        secret = new_token(session, user, "first", [Scope.ADMIN], None, now)[1]
        write_durably(settings.admin_token_file, secret + "\n", mode=0o600)
    return secret


def authenticate(store: Store, token: str, now: datetime.datetime | None = None) -> Principal:
    """Whose token this is. Raises Unauthenticated, which never says more than that it is not valid."""
    now = now or utc_now()
    refused = Unauthenticated("the token is not valid: it is unknown, expired or revoked")
    if not token or len(token) > _LONGEST_TOKEN or not token.isascii():
        raise refused
    digest = digest_of(token)
    with store.reading() as session:
        found = accounts.find_token(session, digest)
    if found is None or not hmac.compare_digest(found[0].digest, digest):
        raise refused
    kept, user = found
    if user.disabled_at is not None or not is_valid(kept, now):
        raise refused
    _touch(store, kept, now)
    role = Role(user.role)
    return Principal(user.id, user.name, role, including(kept.scopes) & allowed(role), kept.id, kept.expires_at)


def is_valid(token: Token, now: datetime.datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _touch(store: Store, token: Token, now: datetime.datetime) -> None:
    """Last use, to the minute, and later: who reads does not wait for those who write."""
    if token.last_used_at is None or token.last_used_at <= now - _TOUCH_EVERY:
        token_id = token.id
        store.later.put(("token", token_id), lambda session: accounts.touch(session, token_id, now, now - _TOUCH_EVERY))


def local_principal(store: Store) -> Principal:
    """Who asks where authentication is off: an admin called `local`, made when first needed."""
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
    limits: Limits = NO_LIMITS,
) -> int:
    """Returns the user's id. Raises Forbidden, Invalid, Conflict("name_taken").

    Without a password the user cannot log in, but with a token.
    """
    principal.require(Scope.ADMIN)
    kept = checked(name, password)
    with store.transaction() as session:
        return add_user(session, principal, name, role, kept, limits).id


def add_user(
    session: Session, principal: Principal, name: str, role: Role, password: str | None, limits: Limits
) -> User:
    """`password`: as it is kept. Raises Conflict("name_taken")."""
    now = utc_now()
    user = accounts.add_user(session, name, role, now)
    if user is None:
        raise Conflict("name_taken", f"a user called {name!r} already exists")
    user.password = password
    user.max_queued, user.max_running = limits.max_queued, limits.max_running
    user.device_hours_week = limits.device_hours_week
    session.flush()
    audit.add(session, principal.user_id, "user.create", f"user {name}", now, role=str(role))
    return user


def checked(name: str, password: str | None) -> str | None:
    """What to keep of the password of a new user. Raises Invalid, also for a name that will not do."""
    if not NAME.fullmatch(name):
        raise Invalid(
            [Fault("name", "use at most 64 lower-case letters, digits and . _ @ -, starting with a letter or digit")]
        )
    if name in (LOCAL, "me"):
        raise Invalid([Fault("name", f"{name!r} is reserved: choose another name")])
    return None if password is None else passwords.keep(password, name)
