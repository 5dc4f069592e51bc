"""Signatures, ids and retry times of the Standard Webhooks specification."""

import base64
import hashlib
import hmac
import secrets

__all__ = ["RETRIES_S", "headers", "new_message_id", "new_secret"]

_PREFIX = "whsec_"

# Waits between tries, about three days in all: the specification's example.
RETRIES_S = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)


def new_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def new_message_id() -> str:
    """All tries of a message have the same id, so that the receiver can drop duplicates."""
    return f"msg_{secrets.token_hex(16)}"


def headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
