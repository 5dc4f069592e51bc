"""Divide pictures into training and validation, where their source does not."""

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol

__all__ = ["Pattern", "held_back"]


class Pattern(Protocol):
    """A compiled regular expression."""

    def search(self, text: str, /) -> re.Match[str] | None: ...


def held_back(names: Sequence[str], share: float, seed: int, group: Pattern | None = None) -> set[str]:
    """The names to validate on: about this share, at least one and not all.

    The same names give the same choice in any order. Names with the same match of `group` stay together: its groups if
    it has any, else all of what it matches. A name that does not match is on its own.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        match = group.search(name) if group else None
        groups.setdefault(repr(match.groups() or match.group()) if match else name, []).append(name)
    order = sorted(groups, key=lambda key: hashlib.sha256(f"{seed}\0{key}".encode()).digest())
    chosen: set[str] = set()
    for key in order[:-1]:
        if chosen and len(chosen) >= round(len(names) * share):
            break
        chosen.update(groups[key])
    return chosen
