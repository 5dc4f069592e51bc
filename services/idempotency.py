"""What is sent twice is done once: with an Idempotency-Key, the answer is kept in the transaction that did the work."""

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
from services.store import idempotency
from services.store.engine import Store
from services.store.models import IdempotencyKey

__all__ = ["Done", "Key", "do", "find", "keep", "replay"]

_LIFE = datetime.timedelta(days=7)  # nobody sends a request again after so long


@dataclass(frozen=True)
class Done:
    """What was made or done. The secret is None in a replay: it was shown, and is kept nowhere."""

    body: dict[str, Any]
    location: str
    secret: str | None = None
    replayed: bool = False


@dataclass(frozen=True)
class Key:
    """One user's key, and what it stands for."""

    user_id: int
    text: str
    digest: str

    @classmethod
    def of(cls, user_id: int, text: str | None, what: str, request: Mapping[str, Any]) -> "Key | None":
        """`what`: the same request elsewhere is another one. No passwords in `request`: its digest is no safe place."""
        if text is None:
            return None
        said = json.dumps([what, request], sort_keys=True, default=str)
        return cls(user_id, text, hashlib.sha256(said.encode()).hexdigest())


def do(store: Store, key: Key | None, work: Callable[[Session], Done]) -> Done:
    """`work` in a transaction, or what it came to the first time. Raises Conflict("key_reused")."""
    try:
        with store.transaction() as session:
            before = find(session, key)
            if before is not None:
                return before
            done = work(session)
            keep(session, key, done)
            return done
    except (idempotency.KeyTaken, WrongState, Conflict, TooMany):
        before = replay(store, key)
        if before is None:
            raise
        return before


def replay(store: Store, key: Key | None) -> Done | None:
    """What the same request came to. One that is refused because that was a moment earlier finds it here."""
    with store.reading() as session:
        return find(session, key)


def find(session: Session, key: Key | None) -> Done | None:
    """Raises Conflict("key_reused")."""
    kept = idempotency.find(session, key.user_id, key.text) if key is not None else None
    if kept is None or key is None:
        return None
    if kept.request_digest != key.digest:
        raise Conflict("key_reused", "this Idempotency-Key was used for another request: use a new one")
    return Done(kept.body, kept.location or "", replayed=True)


def keep(session: Session, key: Key | None, done: Done, status: int = 201) -> None:
    """Raises KeyTaken."""
    if key is None:
        return
    now = utc_now()
    idempotency.forget_before(session, now - _LIFE)
    entry = IdempotencyKey(
        user_id=key.user_id,
        key=key.text,
        request_digest=key.digest,
        status=status,
        location=done.location,
        body=done.body,
        created_at=now,
    )
    idempotency.keep(session, entry)
