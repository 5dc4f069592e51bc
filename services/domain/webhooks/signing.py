"""Messages to webhooks as the Standard Webhooks specification has them: signed, and tried again for three days."""

import base64
import hashlib
import hmac
import secrets

__all__ = ["RETRIES_S", "headers", "new_message_id", "new_secret"]

_PREFIX = "whsec_"

# After the first try. The specification's own example.
RETRIES_S = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)


def new_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def new_message_id() -> str:
    """Every try of a message has the same: the receiver tells by it what he has seen before."""
    return f"msg_{secrets.token_hex(16)}"


def headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
