"""The processor cores that this host lets us use."""

import os
from pathlib import Path

from worker.devices.host_memory import memory_groups

__all__ = ["usable_cores"]


def usable_cores(root: Path = Path("/")) -> int:
    """The cores that this process may run on, within the quota of its control groups (version 2)."""
    quotas = [quota for _, folders in memory_groups(root=root) for folder in folders for quota in _quota(folder)]
    return max(1, int(min([len(os.sched_getaffinity(0)), *quotas])))


def _quota(folder: Path) -> list[float]:
    """The cores that `cpu.max` allows, as "200000 100000" for two; empty where it says "max"."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return [int(quota) / int(period)]
    except (OSError, ValueError, ZeroDivisionError):
        return []
