"""One page of a list."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Page"]


@dataclass(frozen=True)
class Page:
    """`before`: ask for items before this number to get the next page; None on the last page."""

    items: list[dict[str, Any]]
    before: int | None
