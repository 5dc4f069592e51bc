"""Cursors: the position in a list. They are opaque to clients, so that their content can change."""

import base64
import binascii
import json

from api.schemas.base import LARGEST_ID
from services.errors import Fault, Invalid

__all__ = ["read", "write"]


def write(before: int | None) -> str | None:
    if before is None:
        return None
    return base64.urlsafe_b64encode(json.dumps({"before": before}).encode()).decode().rstrip("=")


def read(cursor: str | None) -> int | None:
    """Raises Invalid for anything that `write` does not produce."""
    if cursor is None:
        return None
    try:
        values = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        before = values["before"]
        if type(before) is not int or not 0 < before <= LARGEST_ID or write(before) != cursor:
            raise ValueError
    except (binascii.Error, ValueError, TypeError, KeyError, RecursionError):
        raise Invalid([Fault("cursor", "is not valid for this list: send `next` of the previous page")]) from None
    return before
