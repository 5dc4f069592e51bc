"""What the host knows about a running attempt and its trainer does not: neighbours on the device, and OOM kills.

The observations are saved in the attempt directory as they change, for the reaper in case the supervisor dies.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.attempts.evidence import HostEvidence
from services.domain.contract import SPEC_FILE, AttemptSpec, ContractError, DeviceKind
from services.sanitize import count, text
from worker import notes
from worker.devices.neighbours import NeighbourWatch
from worker.devices.oom_kills import OomKills, kills_since

__all__ = ["Observer", "read_saved_evidence"]

_POLL_S, _SAVE_S = 2.0, 10.0
_log = logging.getLogger(__name__)


class Observer:
    def __init__(self, folder: Path, trainer: int) -> None:
        self._folder = folder
        self._kills = OomKills(trainer)
        self._neighbours = _neighbour_watch(folder, trainer)
        self._poll_at = self._save_at = float("-inf")
        self._saved: dict[str, Any] = {}
        if self._neighbours:
            self._neighbours.start()

    def poll(self, now: float) -> None:
        """Call as often as convenient: most calls do nothing."""
        if now >= self._poll_at:
            self._poll_at = now + _POLL_S
            self._kills.update()
        if now >= self._save_at:
            self._save_at = now + _SAVE_S
            self._save()

    def finish(self) -> HostEvidence:
        """Observe once more, and return what was found. The trainer must have ended."""
        if self._neighbours:
            self._neighbours.stop()
        self._save()
        return _evidence(self._saved)

    def _save(self) -> None:
        neighbours = self._neighbours.most() if self._neighbours else None
        seen = {
            "oom_kills_before": self._kills.before.copy(),
            "held_by_others": neighbours.used_bytes if neighbours else None,
            "others": [vars(process) for process in neighbours.processes] if neighbours else [],
        }
        if seen == self._saved:
            return
        self._saved = seen
        try:
            notes.note_observations(self._folder, seen)
        except OSError as error:  # for example a full disk
            _log.warning("observations of the attempt could not be saved: %s", error)


def read_saved_evidence(folder: Path) -> HostEvidence:
    """What a supervisor that has died saved about its attempt."""
    return _evidence(notes.read_observations(folder))


def _evidence(seen: Mapping[str, Any]) -> HostEvidence:
    """Values of a wrong type count as not observed: the note may be damaged."""
    others, before = seen.get("others"), seen.get("oom_kills_before")
    counted = before.items() if isinstance(before, dict) else ()
    return HostEvidence(
        held_by_others=count(seen.get("held_by_others")),
        others=tuple(filter(None, map(_process, others))) if isinstance(others, list) else (),
        oom_kills=kills_since({file: number for file, number in counted if count(number) is not None}),
    )


def _process(seen: Any) -> dict[str, Any] | None:
    """A process as we note it; None without a process number."""
    if not isinstance(seen, dict) or count(seen.get("pid")) is None:
        return None
    name = seen.get("name")
    return {
        "pid": seen["pid"],
        "name": text(name) if isinstance(name, str) else None,
        "used_bytes": count(seen.get("used_bytes")),
    }


def _neighbour_watch(folder: Path, trainer: int) -> NeighbourWatch | None:
    """For the GPU that the attempt was given; None on a CPU slot."""
    try:
        device = AttemptSpec.from_json((folder / SPEC_FILE).read_text(), passed_over=[]).device
    except (OSError, ContractError, UnicodeDecodeError):
        return None
    if device.kind is not DeviceKind.GPU:
        return None
    visible = str(notes.read_environment(folder).get("CUDA_VISIBLE_DEVICES") or "")
    if visible.isdigit():  # NVML gave no uuid
        return NeighbourWatch(int(visible), None, trainer)
    return NeighbourWatch(device.gpu, visible or None, trainer)
