"""Tokens made, listed and revoked by those who hold one."""

import dataclasses
import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import idempotency
from services.clock import stamp, utc_now
from services.errors import Fault, Forbidden, Invalid, NotFound, TooMany
from services.idempotency import Done, Key
from services.store import accounts, audit
from services.store.device_use import lock_user
from services.store.engine import Store
from services.store.models import Token
from services.users.principal import Principal, Scope, including, listed, new_token

__all__ = ["create", "every", "revoke", "show"]

_MOST = 100  # a user, and valid
_SHOWN = datetime.timedelta(days=30)  # after its end


def create(
    store: Store,
    principal: Principal,
    name: str,
    scopes: Collection[Scope],
    expires_in: datetime.timedelta | None = None,
    user: str | None = None,
    idempotency_key: str | None = None,
) -> Done:
    """A token for oneself, or for another user where an admin asks. It can never do more, nor longer, than the token
    it was made with. Raises Forbidden, Invalid, TooMany, Conflict("key_reused")."""
    principal.require(Scope.SUBMIT)
    wanted = _Wanted(name, tuple(scope for scope in Scope if scope in scopes), expires_in, user or principal.name)
    _check(principal, wanted)
    key = Key.of(principal.user_id, idempotency_key, "token", dataclasses.asdict(wanted))
    return idempotency.do(store, key, lambda session: _create(session, principal, wanted))


@dataclass(frozen=True)
class _Wanted:
    name: str
    scopes: tuple[Scope, ...]
    expires_in: datetime.timedelta | None
    user: str

    def expires_at(self, now: datetime.datetime) -> datetime.datetime | None:
        return None if self.expires_in is None else now + self.expires_in


def _create(session: Session, principal: Principal, wanted: _Wanted) -> Done:
    now = utc_now()
    owner = accounts.user_called(session, wanted.user)
    if owner is None:
        raise Invalid([Fault("user", f"there is no user called {wanted.user!r}")])
    lock_user(session, owner.id)
    if accounts.count_valid_tokens(session, owner.id, now) >= _MOST:
        raise TooMany(f"{owner.name} already has {_MOST} of {_MOST} valid tokens: revoke one first")
    token, secret = new_token(session, owner, wanted.name, wanted.scopes, wanted.expires_at(now), now)
    audit.add(session, principal.user_id, "token.create", f"token {token.id}", now, name=wanted.name, user=owner.name)
    return Done(token_view(token, owner.name), f"/v1/tokens/{token.id}", secret)


def _check(principal: Principal, wanted: _Wanted) -> None:
    if wanted.user != principal.name and not principal.is_admin:
        raise Forbidden("only admins can create tokens for other users")
    faults = []
    if not wanted.scopes:
        faults.append(Fault("scopes", f"name at least one of {', '.join(Scope)}"))
    if not including(wanted.scopes) <= principal.scopes:
        faults.append(Fault("scopes", f"cannot exceed those of your own token: {listed(principal.scopes)}"))
    own, ends = principal.expires_at, wanted.expires_at(utc_now())
    if own is not None and (ends is None or ends > own):
        faults.append(Fault("expires_in_days", f"your own token ends at {stamp(own)}; this one cannot outlive it"))
    if faults:
        raise Invalid(faults)


def every(store: Store, principal: Principal) -> list[dict[str, Any]]:
    """One's own tokens; everybody's for an admin. Newest first; what ended long ago is in the audit alone."""
    principal.require(Scope.READ)
    with store.reading() as session:
        found = accounts.tokens(session, None if principal.is_admin else principal.user_id, utc_now() - _SHOWN)
        return [token_view(token, name) for token, name in found]


def show(store: Store, principal: Principal, token_id: int) -> dict[str, Any]:
    """Raises NotFound, also for one that is somebody else's."""
    principal.require(Scope.READ)
    with store.reading() as session:
        token = _own(session, principal, token_id)
        return token_view(token, accounts.names_of(session, {token.user_id})[token.user_id])


def _own(session: Session, principal: Principal, token_id: int) -> Token:
    token = accounts.get_token(session, token_id)
    if token is None or (token.user_id != principal.user_id and not principal.is_admin):
        raise NotFound(f"there is no token {token_id}")
    return token


def revoke(store: Store, principal: Principal, token_id: int) -> None:
    """From now on it is not valid. Twice is as once. Raises NotFound, also for one that is somebody else's."""
    principal.require(Scope.SUBMIT)
    now = utc_now()
    with store.transaction() as session:
        _own(session, principal, token_id)
        if accounts.revoke(session, token_id, now):
            audit.add(session, principal.user_id, "token.revoke", f"token {token_id}", now)


def token_view(token: Token, owner: str) -> dict[str, Any]:
    times = ("created_at", "expires_at", "last_used_at", "revoked_at")
    return {
        "id": token.id,
        "name": token.name,
        "user": owner,
        "scopes": list(token.scopes),
        **{name: stamp(getattr(token, name)) for name in times},
    }
