"""Suggests known names for a misspelt one, at a bounded cost."""

import difflib
import heapq
from collections.abc import Iterable
from itertools import islice

__all__ = ["LONGEST", "close_names", "shortened"]

LONGEST = 64  # characters; comparing two strings takes the product of their lengths
_MOST_KNOWN = 2000
_MOST_COMPARED = 40


def close_names(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most `most` of the `known` names, the most similar first; none for a name longer than LONGEST.

    One call takes at most about 30 ms. The caller bounds how many calls one request can cause.
    """
    if not 0 < len(name) <= LONGEST:
        return []
    pairs = _pairs(name)
    candidates = [other for other in islice(known, _MOST_KNOWN) if len(other) <= LONGEST]
    likely = heapq.nlargest(_MOST_COMPARED, candidates, key=lambda other: len(pairs & _pairs(other)))
    return difflib.get_close_matches(name, likely, n=most, cutoff=cutoff)


def _pairs(name: str) -> set[str]:
    """Pairs of neighbouring letters, with the ends: a cheap measure of similarity."""
    framed = f" {name.lower()} "
    return {framed[at : at + 2] for at in range(len(framed) - 1)}


def shortened(name: str) -> str:
    """The name for an error message: cut where it is long."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
