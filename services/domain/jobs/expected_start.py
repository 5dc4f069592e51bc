"""When each queued job is expected to start, from the remaining time of the jobs that run."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Opening", "Turn", "expected_starts"]


@dataclass(frozen=True)
class Opening:
    """A device. `usable_bytes`: what a job can have of it. `free_in_s`: when its job ends; None: unknown."""

    total_bytes: int
    usable_bytes: int
    free_in_s: float | None


@dataclass(frozen=True)
class Turn:
    """A queued job. `needed_bytes`: its predicted peak. `runs_s`: how long it will run; None: unknown.

    `takes_largest`: of several free devices, instead of the smallest.
    """

    job_id: int
    needed_bytes: float
    min_bytes: int
    runs_s: float | None = None
    takes_largest: bool = False


def expected_starts(devices: Iterable[Opening], queue: Sequence[Turn]) -> dict[int, float]:
    """Seconds until each job starts. Jobs for which that cannot be told are left out.

    In the order of the queue, each job takes the device that is free first among those that hold it, and of several the
    smallest. A job that no device holds takes none: it delays nobody. A device that is free at an
    unknown time, or given to a job of unknown length, opens for no later job.
    """
    known = [device for device in devices if device.free_in_s is not None]
    free_in = [device.free_in_s or 0.0 for device in known]
    found: dict[int, float] = {}
    for turn in queue:
        fitting = [
            (free_in[index], -device.usable_bytes if turn.takes_largest else device.usable_bytes, index)
            for index, device in enumerate(known)
            if device.usable_bytes >= turn.needed_bytes and device.total_bytes >= turn.min_bytes
        ]
        start, _, index = min(fitting, default=(math.inf, 0, 0))
        if start == math.inf:
            continue
        found[turn.job_id] = start
        free_in[index] = math.inf if turn.runs_s is None else start + turn.runs_s
    return found
