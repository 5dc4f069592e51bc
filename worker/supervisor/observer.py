"""What the host sees of a running attempt and its trainer cannot: who else is on its device, whom the kernel kills.

It is kept in the attempt's directory as it goes on, for the reaper, should the supervisor be lost.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.attempts.evidence import Facts
from services.domain.contract import SPEC_FILE, AttemptSpec, ContractError, DeviceKind
from services.sanitize import count
from worker import notes
from worker.devices.neighbours import Company
from worker.devices.oom_kills import OomKills, kills_since

__all__ = ["Witness", "facts_left"]

_LOOK_S, _KEEP_S = 2.0, 10.0
_log = logging.getLogger(__name__)


class Witness:
    def __init__(self, folder: Path, trainer: int) -> None:
        self._folder = folder
        self._kills = OomKills(trainer)
        self._company = _company(folder, trainer)
        self._look_at = self._keep_at = float("-inf")
        self._kept: dict[str, Any] = {}
        if self._company:
            self._company.watch()

    def look(self, now: float) -> None:
        """Costs nothing most times: to be called as often as one likes."""
        if now >= self._look_at:
            self._look_at = now + _LOOK_S
            self._kills.look()
        if now >= self._keep_at:
            self._keep_at = now + _KEEP_S
            self._keep()

    def last_look(self) -> Facts:
        """The trainer has ended."""
        if self._company:
            self._company.end()
        self._keep()
        return _facts(self._kept)

    def _keep(self) -> None:
        crowd = self._company.largest() if self._company else None
        seen = {
            "oom_kills_before": self._kills.before.copy(),
            "held_by_others": crowd.used_bytes if crowd else None,
            "others": [vars(process) for process in crowd.processes] if crowd else [],
        }
        if seen == self._kept:
            return
        self._kept = seen
        try:
            notes.note_facts(self._folder, seen)
        except OSError as error:  # a full disk, say
            _log.warning("observations of the attempt could not be saved: %s", error)


def facts_left(folder: Path) -> Facts:
    """What is known of an attempt whose supervisor is gone."""
    return _facts(notes.read_facts(folder))


def _facts(seen: Mapping[str, Any]) -> Facts:
    """What is of another kind than we write counts as not seen."""
    others, before = seen.get("others"), seen.get("oom_kills_before")
    counted = before.items() if isinstance(before, dict) else ()
    return Facts(
        held_by_others=count(seen.get("held_by_others")),
        others=tuple(one for one in others if isinstance(one, dict)) if isinstance(others, list) else (),
        oom_kills=kills_since({file: number for file, number in counted if count(number) is not None}),
    )


def _company(folder: Path, trainer: int) -> Company | None:
    """Of an attempt on a GPU: by the card that it was given."""
    try:
        device = AttemptSpec.from_json((folder / SPEC_FILE).read_text(), passed_over=[]).device
    except (OSError, ContractError, UnicodeDecodeError):
        return None
    if device.kind is not DeviceKind.GPU:
        return None
    visible = notes.read_environment(folder).get("CUDA_VISIBLE_DEVICES")
    return Company(device.gpu, visible if isinstance(visible, str) else None, trainer)
