"""Whose memory of a device is whose."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Use", "use_of"]


@dataclass(frozen=True)
class Use:
    """Bytes. What nobody can be named for is others': only a job of ours makes memory ours."""

    free: int
    ours: int
    others: int


def use_of(
    total: int,
    free: int,
    processes: Iterable[Mapping[str, Any]],
    is_leased: bool,
    held_before: int,
    sampled: float | None = None,
) -> Use:
    """`processes`: other people's. `held_before`: by nobody that the driver names, before our job was there.

    `sampled`: what the trainer said last of a slot: nobody else knows.
    """
    used = max(0, total - free)
    if sampled is not None:
        ours = min(total, int(sampled))
        others = max(0, used - ours)
        return Use(total - ours - others, ours, others)
    others = min(used, sum(process.get("used_bytes") or 0 for process in processes))
    if is_leased:
        others = min(used, others + max(0, held_before))
        return Use(free, used - others, others)
    return Use(free, 0, used)
