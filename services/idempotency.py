"""Do a request with an Idempotency-Key once: its result is stored in the transaction that does the work."""

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services.clock import utc_now
from services.domain.jobs.states import WrongState
from services.errors import Conflict, TooMany
from services.store.engine import Store
from services.store.models import IdempotencyKey
from services.store.users import idempotency

__all__ = ["RequestKey", "Result", "do_once", "find", "replay", "store_result"]

_LIFETIME = datetime.timedelta(days=7)  # no later retry is expected


@dataclass(frozen=True)
class Result:
    """The result of a request. The secret is None in a replay: it is shown once and never stored."""

    body: dict[str, Any]
    location: str
    secret: str | None = None
    replayed: bool = False


@dataclass(frozen=True)
class RequestKey:
    """A user's Idempotency-Key, with a digest of the request that it was sent with."""

    user_id: int
    text: str
    digest: str

    @classmethod
    def of(cls, user_id: int, text: str | None, operation: str, request: Mapping[str, Any]) -> "RequestKey | None":
        """`operation` tells apart equal requests to different endpoints.

        `request` must not contain a password: it could be guessed from the digest.
        """
        if text is None:
            return None
        canonical = json.dumps([operation, request], sort_keys=True, default=str)
        return cls(user_id, text, hashlib.sha256(canonical.encode()).hexdigest())


def do_once(store: Store, key: RequestKey | None, work: Callable[[Session], Result]) -> Result:
    """Call `work` in a transaction, or return its stored result. Raises Conflict("key_reused")."""
    try:
        with store.transaction() as session:
            stored = find(session, key)
            if stored is not None:
                return stored
            result = work(session)
            store_result(session, key, result)
            return result
    except (idempotency.KeyTaken, WrongState, Conflict, TooMany):
        stored = replay(store, key)
        if stored is None:
            raise
        return stored


def replay(store: Store, key: RequestKey | None) -> Result | None:
    """The stored result of the same request. Call again after a conflict: a concurrent duplicate may have won."""
    with store.reading() as session:
        return find(session, key)


def find(session: Session, key: RequestKey | None) -> Result | None:
    """The stored result for this key. Raises Conflict("key_reused")."""
    stored = idempotency.find(session, key.user_id, key.text) if key is not None else None
    if stored is None or key is None:
        return None
    if stored.request_digest != key.digest:
        raise Conflict("key_reused", "this Idempotency-Key was used for another request: use a new one")
    return Result(stored.body, stored.location or "", replayed=True)


def store_result(session: Session, key: RequestKey | None, result: Result, status: int = 201) -> None:
    """Without a key nothing is stored. Raises KeyTaken."""
    if key is None:
        return
    now = utc_now()
    idempotency.forget_before(session, now - _LIFETIME)
    entry = IdempotencyKey(
        user_id=key.user_id,
        key=key.text,
        request_digest=key.digest,
        status=status,
        location=result.location,
        body=result.body,
        created_at=now,
    )
    idempotency.add(session, entry)
