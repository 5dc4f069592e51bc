"""Who is still let in: asked of all who stay for long, at once."""

import datetime
from collections.abc import Collection

from services.clock import utc_now
from services.store import accounts
from services.store.engine import Store
from services.users.principal import Principal

__all__ = ["still_in"]


def still_in(
    store: Store, principals: Collection[Principal], now: datetime.datetime | None = None
) -> frozenset[Principal]:
    """Those of them who would be let in again as what they are now, found with one query.

    Not those whose token was revoked or has expired, whose session has ended, who were disabled, or whose role is
    another by now.
    """
    tokens = {one.token_id for one in principals if one.token_id is not None}
    sessions = {one.session_id for one in principals if one.session_id is not None}
    with store.reading() as session:
        valid = accounts.valid(session, {one.user_id for one in principals}, tokens, sessions, now or utc_now())
    return frozenset(
        one
        for one in principals
        if valid.roles.get(one.user_id) == one.role
        and (one.token_id is None or one.token_id in valid.tokens)
        and (one.session_id is None or one.session_id in valid.sessions)
    )
