"""Re-check in one query which callers may keep an open stream."""

from collections.abc import Collection

from services.clock import utc_now
from services.store.engine import Store
from services.store.users import accounts
from services.users.principal import Principal

__all__ = ["still_valid"]


def still_valid(store: Store, principals: Collection[Principal]) -> frozenset[Principal]:
    """The principals that would be authenticated again with the same role.

    Left out: a token that is revoked or expired, a session that has ended, a user who is disabled or has another role.
    """
    tokens = {one.token_id for one in principals if one.token_id is not None}
    sessions = {one.session_id for one in principals if one.session_id is not None}
    with store.reading() as session:
        valid = accounts.valid_credentials(session, {one.user_id for one in principals}, tokens, sessions, utc_now())
    return frozenset(
        one
        for one in principals
        if valid.roles.get(one.user_id) == one.role
        and (one.token_id is None or one.token_id in valid.tokens)
        and (one.session_id is None or one.session_id in valid.sessions)
    )
