"""Tokens made, listed and revoked by those who hold one."""

import datetime
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services.accounts import Principal, Scope, including, listed, new_token
from services.clock import utc_now
from services.errors import Conflict, Fault, Forbidden, Invalid, NotFound
from services.store import accounts, audit, idempotency
from services.store.engine import Store
from services.store.models import IdempotencyKey, Token
from services.views import stamp

__all__ = ["Created", "create", "every", "revoke"]


@dataclass(frozen=True)
class Created:
    """A token that was made. The secret is None in a replay: it was shown, and is kept nowhere."""

    body: dict[str, Any]
    secret: str | None
    replayed: bool = False


def create(
    store: Store,
    principal: Principal,
    name: str,
    scopes: Collection[Scope],
    expires_in: datetime.timedelta | None = None,
    user: str | None = None,
    idempotency_key: str | None = None,
) -> Created:
    """A token for oneself, or for another user where an admin asks. It can never do more, nor longer, than the token
    it was made with. Raises Forbidden, Invalid, Conflict("key_reused")."""
    principal.require(Scope.SUBMIT)
    wanted = _Wanted(name, tuple(scope for scope in Scope if scope in scopes), expires_in, user or principal.name)
    _check(principal, wanted)
    try:
        return _create(store, principal, wanted, idempotency_key)
    except idempotency.KeyTaken:  # the same key a moment earlier: what it made is there now
        return _create(store, principal, wanted, idempotency_key)


@dataclass(frozen=True)
class _Wanted:
    name: str
    scopes: tuple[Scope, ...]
    expires_in: datetime.timedelta | None
    user: str

    def expires_at(self, now: datetime.datetime) -> datetime.datetime | None:
        return None if self.expires_in is None else now + self.expires_in

    def digest(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()


def _create(store: Store, principal: Principal, wanted: _Wanted, key: str | None) -> Created:
    now = utc_now()
    with store.transaction() as session:
        replay = _replay(session, principal, wanted, key)
        if replay is not None:
            return replay
        owner = accounts.user_called(session, wanted.user)
        if owner is None:
            raise Invalid([Fault("user", f"there is no user called {wanted.user!r}")])
        token, secret = new_token(session, owner, wanted.name, wanted.scopes, wanted.expires_at(now), now)
        body = token_view(token, owner.name)
        audit.add(
            session, principal.user_id, "token.create", f"token {token.id}", now, name=wanted.name, user=owner.name
        )
        if key is not None:
            entry = IdempotencyKey(
                user_id=principal.user_id,
                key=key,
                request_digest=wanted.digest(),
                status=201,
                location=f"/v1/tokens/{token.id}",
                body=body,
                created_at=now,
            )
            idempotency.keep(session, entry)
        return Created(body, secret)


def _check(principal: Principal, wanted: _Wanted) -> None:
    if wanted.user != principal.name and not principal.is_admin:
        raise Forbidden("only admins make tokens for other users")
    faults = []
    if not wanted.scopes:
        faults.append(Fault("scopes", f"at least one of {', '.join(Scope)}"))
    if not including(wanted.scopes) <= principal.scopes:
        faults.append(Fault("scopes", f"at most those of your own token: {listed(principal.scopes)}"))
    own, ends = principal.expires_at, wanted.expires_at(utc_now())
    if own is not None and (ends is None or ends > own):
        faults.append(Fault("expires_in", f"your own token ends at {stamp(own)}; this one cannot outlive it"))
    if faults:
        raise Invalid(faults)


def _replay(session: Session, principal: Principal, wanted: _Wanted, key: str | None) -> Created | None:
    kept = idempotency.find(session, principal.user_id, key) if key is not None else None
    if kept is None:
        return None
    if kept.request_digest != wanted.digest():
        raise Conflict("key_reused", "this Idempotency-Key was used for another request: take a new one")
    return Created(kept.body, None, replayed=True)


def every(store: Store, principal: Principal) -> list[dict[str, Any]]:
    """One's own tokens; everybody's for an admin. Newest first."""
    principal.require(Scope.READ)
    with store.reading() as session:
        found = accounts.tokens(session, None if principal.is_admin else principal.user_id)
        return [token_view(token, name) for token, name in found]


def revoke(store: Store, principal: Principal, token_id: int) -> None:
    """From now on it is not valid. Twice is as once. Raises NotFound, also for one that is somebody else's."""
    principal.require(Scope.SUBMIT)
    now = utc_now()
    with store.transaction() as session:
        token = accounts.get_token(session, token_id)
        if token is None or (token.user_id != principal.user_id and not principal.is_admin):
            raise NotFound(f"there is no token {token_id}")
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
