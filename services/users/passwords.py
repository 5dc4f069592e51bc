"""Passwords: kept as scrypt makes them, with salt and parameters, so that the parameters can be raised later."""

import base64
import hashlib
import hmac
import secrets
import unicodedata

from services.errors import Fault, Invalid

__all__ = ["LONGEST", "SHORTEST", "generate", "keep", "matches"]

SHORTEST = 10
LONGEST = 256
_N, _R, _P = 2**14, 8, 5  # 16 MB and some tenths of a second
_MEMORY = 64 * 2**20
_SALT_BYTES, _KEY_BYTES = 16, 32


def keep(password: str, name: str) -> str:
    """What to keep of a password. Raises Invalid for one that is too short, too long or the user's name."""
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


def matches(kept: str | None, password: str) -> bool:
    """Is it the password? Takes as long where nothing is kept: how long it takes tells nobody who has an account."""
    _, n, r, p, salt, key = (kept or _NOBODY).split("$")
    given = _derive(password[: LONGEST + 1], base64.b64decode(salt), int(n), int(r), int(p))
    return hmac.compare_digest(given, base64.b64decode(key)) and kept is not None


def generate() -> str:
    """One that nobody guesses and anybody can type: 80 random bits, without letters that look alike."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(4))


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    """The same letters typed on another machine may be other bytes: NFKC makes them the same."""
    said = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(said, salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=_KEY_BYTES)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_NOBODY = "$".join(["scrypt", str(_N), str(_R), str(_P), _text(bytes(_SALT_BYTES)), _text(bytes(_KEY_BYTES))])
