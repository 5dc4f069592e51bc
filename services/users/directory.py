"""The accounts of the team, as admins see and change them; and one's own password."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services import idempotency, usage
from services.clock import stamp, utc_now
from services.domain.jobs.limits import Limits
from services.domain.jobs.states import State
from services.errors import Conflict, Fault, Forbidden, Invalid, NotFound
from services.idempotency import Done, Key
from services.page import Page
from services.settings import Settings
from services.store import accounts, audit, jobs, sessions
from services.store.engine import Store
from services.store.models import User
from services.usage import Standing
from services.users import passwords
from services.users import principal as who
from services.users.principal import Principal, Role, Scope
from services.users.sessions import UNKNOWN, Browser, note_refusal

__all__ = ["audit_page", "change", "change_own_password", "create", "every", "show", "use_of"]

_LIMITS = ("max_queued", "max_running", "device_hours_week")


def every(store: Store, settings: Settings, principal: Principal) -> list[dict[str, Any]]:
    """By name. Raises Forbidden for all but admins."""
    principal.require(Scope.ADMIN)
    with store.reading() as session:
        standings = usage.of_everybody(session, settings, utc_now())
        return [_view(user, standings[user.id]) for user in accounts.users(session)]


def show(store: Store, settings: Settings, principal: Principal, name: str) -> dict[str, Any]:
    """Raises Forbidden, NotFound."""
    principal.require(Scope.ADMIN)
    with store.reading() as session:
        user = accounts.user_called(session, name)
        if user is None:
            raise _nobody(name)
        return _view(user, usage.of_user(session, settings, utc_now(), user.id))


def create(
    store: Store,
    settings: Settings,
    principal: Principal,
    name: str,
    role: Role,
    password: str | None = None,
    limits: Limits = who.NO_LIMITS,
    idempotency_key: str | None = None,
) -> Done:
    """As `accounts.create_user`; answers with the user as he is shown."""
    principal.require(Scope.ADMIN)
    asked = {"name": name, "role": role, "limits": _limits(limits), "has_password": password is not None}
    kept = who.checked(name, password)

    def add(session: Session) -> Done:
        user = who.add_user(session, principal, name, role, kept, limits)
        shown = _view(user, usage.of_user(session, settings, utc_now(), user.id))
        return Done(shown, shown["links"]["self"])

    done = idempotency.do(store, Key.of(principal.user_id, idempotency_key, "user", asked), add)
    if done.replayed and password is not None:
        _require_same_password(store, name, password)
    return done


def _require_same_password(store: Store, name: str, password: str) -> None:
    """The key's digest says nothing about it: a digest of a password can be guessed."""
    with store.reading() as session:
        user = accounts.user_called(session, name)
    if user is None or not passwords.matches(user.password, password):
        raise Conflict("key_reused", "this Idempotency-Key was used with another password: use a new one")


def change(
    store: Store, principal: Principal, name: str, changes: Mapping[str, Any], if_match: int | None = None
) -> None:
    """Change `role`, `disabled`, `password` or `limits`; of the limits, those that are named (None: the default).

    A new password and being disabled end all sessions of the user; tokens of one who is disabled are not valid until
    that is taken back. The last admin stays one. Raises Forbidden, NotFound, Invalid, Conflict.
    """
    principal.require(Scope.ADMIN)
    kept = passwords.keep(changes["password"], name) if "password" in changes else None
    now = utc_now()
    with store.transaction() as session:
        admins = accounts.lock_admins(session)
        user = accounts.lock_user(session, name)
        if user is None:
            raise _nobody(name)
        if if_match is not None and if_match != user.version:
            raise Conflict(
                "version_mismatch",
                f"the user has changed since you read it (now version {user.version}): read it again",
            )
        _apply(session, user, changes, kept, now)
        _keep_an_admin(admins, user)
        user.version += 1
        said = {field: "changed" if field == "password" else value for field, value in changes.items()}
        audit.add(session, principal.user_id, "user.change", f"user {name}", now, **said)


def _apply(
    session: Session, user: User, changes: Mapping[str, Any], password: str | None, now: datetime.datetime
) -> None:
    if "role" in changes:
        user.role = Role(changes["role"])
    if "disabled" in changes:
        user.disabled_at = (user.disabled_at or now) if changes["disabled"] else None
    if password is not None:
        user.password = password
    for limit, value in changes.get("limits", {}).items():
        if limit not in _LIMITS:
            raise Invalid([Fault(f"limits.{limit}", f"no such limit; the limits are {', '.join(_LIMITS)}")])
        setattr(user, limit, value)
    if password is not None or user.disabled_at is not None:
        sessions.end_all(session, user.id)


def _keep_an_admin(admins: Sequence[User], changed: User) -> None:
    """`admins`: as they were, the changed one perhaps among them."""
    left = [user for user in admins if user.role == Role.ADMIN and user.disabled_at is None and user.name != who.LOCAL]
    if changed in admins and not left:
        raise Conflict("last_admin", f"{changed.name} is the last admin: make another user an admin first")


def change_own_password(
    store: Store, principal: Principal, password: str, current: str | None, browser: Browser = UNKNOWN
) -> None:
    """All other sessions of the user end. Raises Invalid, Forbidden. A wrong `current` goes into the audit.

    The first password needs no current one, but a way in that could do all that the password will be good for: a token
    with fewer rights, or one that ends, does not become a way around itself.
    """
    kept = passwords.keep(password, principal.name)
    with store.reading() as session:
        user = accounts.user_called(session, principal.name)
    assert user is not None
    if user.password is None:
        if principal.scopes != who.allowed(principal.role) or principal.expires_at is not None:
            raise Forbidden("you have no password yet, and this token has too few rights to set one: ask an admin")
    elif current is None:
        raise Invalid([Fault("current", "is missing: send your present password")])
    elif not passwords.matches(user.password, current):
        note_refusal(store, f"user {principal.name}", "current password", browser)
        raise Invalid([Fault("current", "is not your password")])
    now = utc_now()
    with store.transaction() as session:
        again = accounts.lock_user(session, principal.name)
        if again is None or again.password != user.password:
            raise Conflict("version_mismatch", "your password has just been changed: try again")
        again.password = kept
        again.version += 1
        sessions.end_all(session, again.id, but=principal.session_id)
        audit.add(session, principal.user_id, "user.password", f"user {principal.name}", now)


def use_of(store: Store, settings: Settings, principal: Principal) -> dict[str, Any]:
    """One's own limits, and what of them is used."""
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
    """Who did what, newest first. Raises Forbidden for all but admins."""
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


def _nobody(name: str) -> NotFound:
    return NotFound(f"there is no user called {name!r}")


def _limits(limits: Limits) -> dict[str, Any]:
    return {limit: getattr(limits, limit) for limit in _LIMITS}


def _use(own: Standing) -> dict[str, Any]:
    return {"running": own.running, "device_hours_week": round(own.week_s / 3600, 2)}


def _view(user: User, own: Standing) -> dict[str, Any]:
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
