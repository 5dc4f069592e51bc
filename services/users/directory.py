"""User accounts: admins list and change them; each user changes their own password."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services import idempotency, usage
from services.clock import stamp, utc_now
from services.domain.jobs.limits import Limits
from services.domain.jobs.states import State
from services.errors import Conflict, Fault, Forbidden, Invalid, NotFound, require_version
from services.idempotency import RequestKey, Result
from services.page import Page
from services.settings import Settings
from services.store import jobs
from services.store.engine import Store
from services.store.models import User
from services.store.users import accounts, audit, sessions
from services.usage import UserUsage
from services.users import passwords
from services.users import principal as principals
from services.users.principal import Principal, Role, Scope
from services.users.sessions import Browser, record_refusal

__all__ = ["audit_page", "change", "change_own_password", "create", "list_users", "own_usage", "show"]

_LIMITS = ("max_queued", "max_running", "device_hours_week")


def list_users(store: Store, settings: Settings, principal: Principal) -> list[dict[str, Any]]:
    """All users, by name. Raises Forbidden unless the caller is an admin."""
    principal.require(Scope.ADMIN)
    with store.reading() as session:
        usages = usage.of_everybody(session, settings, utc_now())
        return [_view(user, usages[user.id]) for user in accounts.users(session)]


def show(store: Store, settings: Settings, principal: Principal, name: str) -> dict[str, Any]:
    """Raises Forbidden, NotFound."""
    principal.require(Scope.ADMIN)
    with store.reading() as session:
        user = accounts.user_called(session, name)
        if user is None:
            raise _no_such_user(name)
        return _view(user, usage.of_user(session, settings, utc_now(), user.id))


def create(
    store: Store,
    settings: Settings,
    principal: Principal,
    name: str,
    role: Role,
    password: str | None = None,
    limits: Limits = principals.NO_LIMITS,
    idempotency_key: str | None = None,
) -> Result:
    """As `principal.create_user`; the result's body is the user as the API shows it."""
    principal.require(Scope.ADMIN)
    asked = {"name": name, "role": role, "limits": _limits(limits), "has_password": password is not None}
    new_user = principals.check_new_user(name, role, password, limits)

    def add(session: Session) -> Result:
        user = principals.add_user(session, principal, new_user)
        shown = _view(user, usage.of_user(session, settings, utc_now(), user.id))
        return Result(shown, shown["links"]["self"])

    result = idempotency.do_once(store, RequestKey.of(principal.user_id, idempotency_key, "user", asked), add)
    if result.replayed and password is not None:
        _require_same_password(store, name, password)
    return result


def _require_same_password(store: Store, name: str, password: str) -> None:
    """The key's digest leaves the password out, because a password can be guessed from a digest."""
    with store.reading() as session:
        user = accounts.user_called(session, name)
    if user is None or not passwords.matches(user.password, password):
        raise Conflict("key_reused", "this Idempotency-Key was used with another password: use a new one")


def change(
    store: Store, principal: Principal, name: str, changes: Mapping[str, Any], if_match: int | None = None
) -> None:
    """Change `role`, `disabled`, `password` or `limits`. Limits that are not named stay; None sets the default.

    A new password ends all sessions of the user, and so does disabling. Tokens of a disabled user are invalid until the
    user is enabled again. The last admin cannot be disabled or lose the role. Raises Forbidden, NotFound, Invalid,
    Conflict.
    """
    principal.require(Scope.ADMIN)
    password_hash = passwords.hash_password(changes["password"], name) if "password" in changes else None
    now = utc_now()
    with store.transaction() as session:
        admins = accounts.lock_admins(session)
        user = accounts.lock_user(session, name)
        if user is None:
            raise _no_such_user(name)
        require_version("user", user.version, if_match)
        _apply(session, user, changes, password_hash, now)
        _require_an_admin_left(admins, user)
        user.version += 1
        logged = {field: "changed" if field == "password" else value for field, value in changes.items()}
        audit.add(session, principal.user_id, "user.change", f"user {name}", now, **logged)


def _apply(
    session: Session, user: User, changes: Mapping[str, Any], password_hash: str | None, now: datetime.datetime
) -> None:
    if "role" in changes:
        user.role = Role(changes["role"])
    if "disabled" in changes:
        user.disabled_at = (user.disabled_at or now) if changes["disabled"] else None
    if password_hash is not None:
        user.password = password_hash
    for limit, value in changes.get("limits", {}).items():
        if limit not in _LIMITS:
            raise Invalid([Fault(f"limits.{limit}", f"no such limit; the limits are {', '.join(_LIMITS)}")])
        setattr(user, limit, value)
    if password_hash is not None or user.disabled_at is not None:
        sessions.end_all(session, user.id)


def _require_an_admin_left(admins: Sequence[User], changed: User) -> None:
    """`admins`: the admins before the change, which may include `changed`."""
    enabled = [user for user in admins if user.role == Role.ADMIN and user.disabled_at is None]
    if changed in admins and all(user.name == principals.LOCAL for user in enabled):
        raise Conflict("last_admin", f"{changed.name} is the last admin: make another user an admin first")


def change_own_password(
    store: Store, principal: Principal, password: str, current: str | None, browser: Browser
) -> None:
    """Change the caller's password and end all their other sessions. Raises Invalid, Forbidden, Conflict.

    A wrong `current` password is logged in the audit. A first password needs no current one, but a token with all
    rights of the user's role and without an expiry date: otherwise a limited token could give itself more rights.
    """
    password_hash = passwords.hash_password(password, principal.name)
    with store.reading() as session:
        user = accounts.user_called(session, principal.name)
    assert user is not None
    if user.password is None:
        if principal.scopes != principals.scopes_of_role(principal.role) or principal.expires_at is not None:
            raise Forbidden("you have no password yet, and this token has too few rights to set one: ask an admin")
    elif current is None:
        raise Invalid([Fault("current", "is missing: send your current password")])
    elif not passwords.matches(user.password, current):
        record_refusal(store, f"user {principal.name}", "current password", browser)
        raise Invalid([Fault("current", "is not your password")])
    now = utc_now()
    with store.transaction() as session:
        locked = accounts.lock_user(session, principal.name)
        if locked is None or locked.password != user.password:
            raise Conflict("version_mismatch", "your password has just been changed: try again")
        locked.password = password_hash
        locked.version += 1
        sessions.end_all(session, locked.id, but=principal.session_id)
        audit.add(session, principal.user_id, "user.password", f"user {principal.name}", now)


def own_usage(store: Store, settings: Settings, principal: Principal) -> dict[str, Any]:
    """The caller's limits, and how much of them is used."""
    with store.reading() as session:
        own = usage.of_user(session, settings, utc_now(), principal.user_id)
        queued = jobs.count_of(session, principal.user_id).get(State.QUEUED, 0)
    return {"limits": _limits(own.limits), "use": {"queued": queued, **_use(own)}}


def audit_page(
    store: Store,
    principal: Principal,
    limit: int,
    before: int | None = None,
    user: str | None = None,
    kind: str | None = None,
) -> Page:
    """Entries of the audit log, newest first. Raises Forbidden unless the caller is an admin."""
    principal.require(Scope.ADMIN)
    with store.reading() as session:
        found = audit.page(session, limit + 1, before, user, kind)
    items: list[dict[str, Any]] = [
        {
            "id": entry.id,
            "at": stamp(entry.at),
            "user": name,
            "action": entry.action,
            "target": entry.target,
            "data": entry.data,
        }
        for entry, name in found[:limit]
    ]
    return Page(items, items[-1]["id"] if len(found) > limit else None)


def _no_such_user(name: str) -> NotFound:
    return NotFound(f"there is no user called {name!r}")


def _limits(limits: Limits) -> dict[str, Any]:
    return {limit: getattr(limits, limit) for limit in _LIMITS}


def _use(own: UserUsage) -> dict[str, Any]:
    return {"running": own.running, "device_hours_week": round(own.week_s / 3600, 2)}


def _view(user: User, own: UserUsage) -> dict[str, Any]:
    return {
        "name": user.name,
        "role": user.role,
        "is_disabled": user.disabled_at is not None,
        "has_password": user.password is not None,
        "limits": {limit: getattr(user, limit) for limit in _LIMITS},
        "effective_limits": _limits(own.limits),
        "use": _use(own),
        "created_at": stamp(user.created_at),
        "disabled_at": stamp(user.disabled_at),
        "version": user.version,
        "links": {"self": f"/v1/users/{user.name}"},
    }
