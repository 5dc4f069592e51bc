"""Numbers from files that people and tools wrote."""

import math
from typing import Any

__all__ = ["finite", "whole"]


def finite(value: Any) -> float:
    """A finite number from a number or its text. Raises ValueError, which shows what was there."""
    try:
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise TypeError
        number = float(value)
        if not math.isfinite(number):
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{str(value)[:40]!r} is not a number") from None
    return number


def whole(value: Any) -> int:
    number = finite(value)
    if number != int(number):
        raise ValueError(f"{value!r} is not a whole number")
    return int(number)
