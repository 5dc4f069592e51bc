"""One page of a list."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Page"]


@dataclass(frozen=True)
class Page:
    """`before`: the next page starts before the item of this number; None on the last page."""

    items: list[dict[str, Any]]
    before: int | None
