"""Near misses for a misspelt name. Bounded: comparing two long texts of a sender's choosing takes seconds."""

import difflib
import itertools
from collections.abc import Iterable

__all__ = ["close_names"]

_LONGEST_NAME = 64
_MOST_NAMES = 500


def close_names(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Up to `most` of the known names that resemble `name`, the best first. Long names have none."""
    if len(name) > _LONGEST_NAME:
        return []
    short = (one for one in known if len(one) <= _LONGEST_NAME)
    return difflib.get_close_matches(name, itertools.islice(short, _MOST_NAMES), most, cutoff)
