"""Other processes on the GPU of an attempt, and how much of its memory they hold."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from worker.devices.gpu.driver import Driver
from worker.devices.gpu.nvml import Gpu, GpuReader, NvmlUnavailable
from worker.devices.processes import name_of, with_descendants
from worker.devices.readings import MemoryHolder

__all__ = ["NeighbourWatch"]

_POLL_S = 2.0
_REMEMBERED_S = 60.0  # a neighbour that caused a failure may be gone when the trainer ends
_LAST_POLL_S = 5.0


@dataclass(frozen=True)
class Neighbours:
    """The processes of others on the GPU at one moment."""

    used_bytes: int
    processes: tuple[MemoryHolder, ...]


class NeighbourWatch:
    """Polls one card in a separate thread: the supervisor must not wait for a driver that is slow or hangs.

    The card is identified by its uuid, or by NVML's number without one. `trainer` and its descendants are left out.
    """

    def __init__(
        self,
        index: int,
        uuid: str | None,
        trainer: int,
        nvml: GpuReader | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index, self._uuid, self._trainer = index, uuid, trainer
        self._nvml = nvml or Driver()
        self._clock = clock
        self._polls: deque[tuple[float, Neighbours]] = deque()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll_regularly, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def most(self) -> Neighbours | None:
        """The poll of the last minute in which others held most; None if no poll succeeded."""
        found = [neighbours for _, neighbours in list(self._polls)]
        return max(found, key=lambda neighbours: neighbours.used_bytes, default=None)

    def poll(self, trainer_lives: bool = True) -> None:
        """While the trainer lives, leave out processes without a name: each may be the trainer.

        In a container the driver reports the host's pids, which have no name here.
        """
        try:
            _, cards = self._nvml.read()
        except NvmlUnavailable:
            return
        parts = [part for card in cards for part in card.instances]
        card = next((card for card in [*cards, *parts] if self._is_the_card(card)), None)
        if card is None or card.problem:
            return
        now = self._clock()
        self._polls.append((now, self._neighbours(card, trainer_lives)))
        while now - self._polls[0][0] > _REMEMBERED_S:
            self._polls.popleft()

    def stop(self) -> None:
        """Poll once more and stop. The trainer must have ended."""
        self._ended.set()
        last = threading.Thread(target=self.poll, args=[False], daemon=True)
        last.start()
        last.join(_LAST_POLL_S)

    def _poll_regularly(self) -> None:
        while not self._ended.is_set():
            self.poll()
            self._ended.wait(_POLL_S)

    def _is_the_card(self, card: Gpu) -> bool:
        return card.uuid == self._uuid if self._uuid else card.index == self._index

    def _neighbours(self, card: Gpu, trainer_lives: bool) -> Neighbours:
        ours = with_descendants([self._trainer])
        named = [MemoryHolder(pid, used, name_of(pid)) for pid, used in card.processes if pid not in ours]
        theirs = tuple(one for one in named if one.name is not None or not trainer_lives)
        used = sum(one.used_bytes or 0 for one in theirs)
        if not trainer_lives and any(one.used_bytes is None for one in theirs):
            used = card.total_bytes - card.free_bytes
        return Neighbours(used, theirs)
