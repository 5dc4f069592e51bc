"""What a trainer says, made fit for both databases and for JSON. It runs other people's models: it may say anything."""

import math
from typing import Any

__all__ = ["count", "number", "storable", "text"]

_DEEPEST = 8  # levels that are kept
_LONGEST = 20_000  # characters of a text
_LARGEST = 2**53  # every reader of JSON knows whole numbers up to here, and a column holds the sum of several


def storable(value: Any, depth: int = 0) -> Any:
    """Parsed JSON without what PostgreSQL, SQLite or JSON itself does not know; None stands where it was."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {text(name): storable(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [storable(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return text(value) if isinstance(value, str) else value


def text(value: str) -> str:
    """Without NUL and halves of characters, at most 20,000 characters."""
    return value[:_LONGEST].replace("\0", "").encode(errors="replace").decode()


def count(value: Any) -> int | None:
    """A whole number from 0 up that can be counted on: kept, added and shown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST else None


def number(value: Any) -> float | None:
    """A number that is one."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
