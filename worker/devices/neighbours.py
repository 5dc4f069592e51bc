"""Who else is on the GPU of an attempt, and with how much of it."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from worker.devices.nvml import Gpu, Nvml, NvmlUnavailable
from worker.devices.processes import family, name_of
from worker.devices.readings import HeldBy

__all__ = ["Company", "Crowd"]

_EVERY_S = 2.0
_REMEMBERED_S = 60.0  # a neighbour that caused a failure may be gone when the trainer is
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Crowd:
    used_bytes: int
    processes: tuple[HeldBy, ...]


class Company:
    """Looks at one card, named by its uuid, or by NVML's number where there is none, in a thread of its own: a call
    into a sick driver may hang. `trainer` and its children are not company."""

    def __init__(
        self,
        index: int,
        uuid: str | None,
        trainer: int,
        nvml: Nvml | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index, self._uuid, self._trainer = index, uuid, trainer
        self._nvml = nvml or Nvml()
        self._clock = clock
        self._seen: deque[tuple[float, Crowd]] = deque()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def watch(self) -> None:
        self._thread.start()

    def largest(self) -> Crowd | None:
        """The most that others held in the last minute; None where nothing could be seen."""
        crowds = [crowd for _, crowd in list(self._seen)]
        return max(crowds, key=lambda crowd: crowd.used_bytes, default=None)

    def look(self, trainer_lives: bool = True) -> None:
        """While the trainer lives, a process without a name may be the trainer: a container is told the host's pids."""
        try:
            _, cards = self._nvml.read()
        except NvmlUnavailable:
            return
        card = next((card for card in cards if self._is_ours(card)), None)
        if card is None or card.problem:
            return
        now = self._clock()
        self._seen.append((now, self._crowd(card, trainer_lives)))
        while now - self._seen[0][0] > _REMEMBERED_S:
            self._seen.popleft()

    def end(self) -> None:
        """The trainer has ended: a last look, and no more."""
        self._ended.set()
        last = threading.Thread(target=self.look, args=[False], daemon=True)
        last.start()
        last.join(_PATIENCE_S)

    def _look_on(self) -> None:
        while not self._ended.is_set():
            self.look()
            self._ended.wait(_EVERY_S)

    def _is_ours(self, card: Gpu) -> bool:
        return card.uuid == self._uuid if self._uuid else card.index == self._index

    def _crowd(self, card: Gpu, trainer_lives: bool) -> Crowd:
        ours = family([self._trainer])
        named = [HeldBy(pid, used, name_of(pid)) for pid, used in card.processes if pid not in ours]
        strangers = tuple(one for one in named if one.name is not None or not trainer_lives)
        used = sum(one.used_bytes or 0 for one in strangers)
        if not trainer_lives and any(one.used_bytes is None for one in strangers):
            used = card.total_bytes - card.free_bytes
        return Crowd(used, strangers)
