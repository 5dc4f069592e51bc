"""Create, list and revoke API tokens."""

import dataclasses
import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services import idempotency
from services.clock import stamp, utc_now
from services.errors import Fault, Forbidden, Invalid, NotFound, TooMany
from services.idempotency import RequestKey, Result
from services.store.devices.use import lock_user
from services.store.engine import Store
from services.store.models import Token
from services.store.users import accounts, audit
from services.users.principal import Principal, Scope, expand_scopes, join_scopes, new_token

__all__ = ["create", "list_tokens", "revoke", "show"]

_MOST = 100  # valid tokens per user
_SHOWN = datetime.timedelta(days=30)  # after a token ended


def create(
    store: Store,
    principal: Principal,
    name: str,
    scopes: Collection[Scope],
    expires_in: datetime.timedelta | None = None,
    user: str | None = None,
    idempotency_key: str | None = None,
) -> Result:
    """Create a token for the caller, or for another user if the caller is an admin.

    It cannot have more rights than the token it is created with, nor outlive it. Raises Forbidden, Invalid, TooMany,
    Conflict("key_reused").
    """
    principal.require(Scope.SUBMIT)
    ordered = tuple(scope for scope in Scope if scope in scopes)
    wanted = _TokenRequest(name, ordered, expires_in, user or principal.name)
    _check(principal, wanted)
    key = RequestKey.of(principal.user_id, idempotency_key, "token", dataclasses.asdict(wanted))
    return idempotency.do_once(store, key, lambda session: _create(session, principal, wanted))


@dataclass(frozen=True)
class _TokenRequest:
    name: str
    scopes: tuple[Scope, ...]
    expires_in: datetime.timedelta | None
    user: str

    def expires_at(self, now: datetime.datetime) -> datetime.datetime | None:
        return None if self.expires_in is None else now + self.expires_in


def _create(session: Session, principal: Principal, wanted: _TokenRequest) -> Result:
    now = utc_now()
    owner = accounts.user_called(session, wanted.user)
    if owner is None:
        raise Invalid([Fault("user", f"there is no user called {wanted.user!r}")])
    lock_user(session, owner.id)
    if accounts.count_valid_tokens(session, owner.id, now) >= _MOST:
        raise TooMany(f"{owner.name} already has {_MOST} of {_MOST} valid tokens: revoke one first")
    token, secret = new_token(session, owner, wanted.name, wanted.scopes, wanted.expires_at(now), now)
    audit.add(session, principal.user_id, "token.create", f"token {token.id}", now, name=wanted.name, user=owner.name)
    return Result(token_view(token, owner.name), f"/v1/tokens/{token.id}", secret)


def _check(principal: Principal, wanted: _TokenRequest) -> None:
    if wanted.user != principal.name and not principal.is_admin:
        raise Forbidden("only admins can create tokens for other users")
    faults = []
    if not wanted.scopes:
        faults.append(Fault("scopes", f"name at least one of {', '.join(Scope)}"))
    if not expand_scopes(wanted.scopes) <= principal.scopes:
        faults.append(Fault("scopes", f"cannot exceed those of your own token: {join_scopes(principal.scopes)}"))
    own, ends = principal.expires_at, wanted.expires_at(utc_now())
    if own is not None and (ends is None or ends > own):
        faults.append(Fault("expires_in_days", f"your own token ends at {stamp(own)}; this one cannot outlive it"))
    if faults:
        raise Invalid(faults)


def list_tokens(store: Store, principal: Principal) -> list[dict[str, Any]]:
    """The caller's tokens, or all users' for an admin; newest first, without those that ended over 30 days ago."""
    principal.require(Scope.READ)
    with store.reading() as session:
        found = accounts.tokens(session, None if principal.is_admin else principal.user_id, utc_now() - _SHOWN)
        return [token_view(token, name) for token, name in found]


def show(store: Store, principal: Principal, token_id: int) -> dict[str, Any]:
    """Raises NotFound, also for another user's token."""
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
    """Make a token invalid; revoking it again changes nothing. Raises NotFound, also for another user's token."""
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
