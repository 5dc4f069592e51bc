"""Clean the values that a trainer reports so that both databases and JSON can hold them.

A trainer runs other people's models, so its reports may contain anything.
"""

import math
from typing import Any

__all__ = ["clean", "count", "number", "text"]

_DEEPEST = 8  # levels; deeper values become None
_LONGEST = 20_000  # characters
_LARGEST = 2**53  # JSON readers are exact below this, and a column can hold the sum of several such numbers


def clean(value: Any, depth: int = 0) -> Any:
    """Parsed JSON with None in place of each value that PostgreSQL, SQLite or JSON cannot hold."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {text(name): clean(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return text(value) if isinstance(value, str) else value


def text(value: str) -> str:
    """The text without NUL and lone surrogates, cut to 20,000 characters."""
    return value[:_LONGEST].replace("\0", "").encode(errors="replace").decode()


def count(value: Any) -> int | None:
    """The value where it is an integer from 0 to 2**53 - 1, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST else None


def number(value: Any) -> float | None:
    """The value as a float where it is a finite number, else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
