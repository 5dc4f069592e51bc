"""Split a device's memory into free, ours and others'."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Use", "use_of"]


@dataclass(frozen=True)
class Use:
    """Bytes. Memory without a known owner counts as others': only a job of ours makes it ours."""

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
    """The split of `total` bytes, of which `free` are free.

    `processes`: those of others. `held_before`: what no process that the driver names held before our job came.
    `sampled`: what the trainer on a CPU slot reported last, the only source there.
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
