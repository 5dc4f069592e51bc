"""Hash passwords with scrypt. The salt and the parameters are stored with the hash, so that they can be raised."""

import base64
import hashlib
import hmac
import secrets
import unicodedata

from services.errors import Fault, Invalid

__all__ = ["LONGEST", "SHORTEST", "generate", "hash_password", "matches"]

SHORTEST = 10
LONGEST = 256
_N, _R, _P = 2**14, 8, 5  # 16 MB and some tenths of a second
_MEMORY = 64 * 2**20
_SALT_BYTES, _KEY_BYTES = 16, 32


def hash_password(password: str, name: str) -> str:
    """The hash to store. Raises Invalid for a password that is too short, too long or easy to guess."""
    faults = []
    if not SHORTEST <= len(password) <= LONGEST:
        faults.append(
            Fault(
                "password", f"must have {SHORTEST} to {LONGEST} characters; a few words in a row are easy to remember"
            )
        )
    elif len(set(password)) < 4 or password.casefold() == name.casefold():
        faults.append(Fault("password", "is too easy to guess"))
    if faults:
        raise Invalid(faults)
    salt = secrets.token_bytes(_SALT_BYTES)
    return "$".join(["scrypt", str(_N), str(_R), str(_P), _text(salt), _text(_derive(password, salt, _N, _R, _P))])


def matches(password_hash: str | None, password: str) -> bool:
    """Is this the password? Takes equally long without a hash: the time must not reveal which accounts exist."""
    _, n, r, p, salt, key = (password_hash or _NO_USER).split("$")
    given = _derive(password[: LONGEST + 1], base64.b64decode(salt), int(n), int(r), int(p))
    return hmac.compare_digest(given, base64.b64decode(key)) and password_hash is not None


def generate() -> str:
    """A random password of 79 bits, without characters that look alike."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(4))


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    """NFKC makes equal characters equal bytes, whichever machine they are typed on."""
    normalized = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(normalized, salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=_KEY_BYTES)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_NO_USER = "$".join(["scrypt", str(_N), str(_R), str(_P), _text(bytes(_SALT_BYTES)), _text(bytes(_KEY_BYTES))])
