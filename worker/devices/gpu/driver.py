"""The NVIDIA driver as the worker reads it: never in its own process, and never for longer than a moment.

All GPUs are read by one child. If that one hangs, each GPU gets a child of its own, so that only the GPUs for which
the driver does not answer have a problem. The common read is tried again later, at growing intervals.
"""

import threading
import time
from collections.abc import Callable

from services.clock import utc_now
from worker.devices.gpu.nvml import Gpu, NvmlSilent, NvmlUnavailable
from worker.devices.gpu.nvml_client import NoAnswer, NvmlChild

__all__ = ["Driver"]

_PATIENCE_S = 1.5  # the queue waits for it: jobs for other devices must start soon
_FIRST_PATIENCE_S = 20.0  # without it, a driver that is slow to start would look like a host without GPUs
_DEADLINE_S = 10.0
_FIRST_DEADLINE_S = 60.0  # of a new child: without the persistence daemon, the driver starts each GPU first
_RETRY_S, _LONGEST_RETRY_S = 60.0, 960.0
_ADVICE = "see dmesg for lines with NVRM or Xid; if it stays so, reboot the host"


class Driver:
    """Create one and keep it: it holds the children. Safe for several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._all = _Channel(None, "the NVIDIA driver does not answer", clock)
        self._cards: dict[int, _Channel] = {}  # by NVML number, while the common read hangs
        self._last: tuple[str | None, list[Gpu]] | None = None  # the last answer about all GPUs

    def read(self) -> tuple[str | None, list[Gpu]]:
        """The driver's version and every GPU. Raises NvmlUnavailable, and NvmlSilent while the driver is silent."""
        with self._lock:
            patience = _FIRST_PATIENCE_S if self._last is None else _PATIENCE_S
            try:
                self._last = self._all.read(patience)
            except NvmlSilent:
                if self._last is None or not self._all.has_given_up:
                    raise
                return self._last[0], self._read_each(self._last[1])
            self._close_cards()
            return self._last

    def _read_each(self, known: list[Gpu]) -> list[Gpu]:
        """Each GPU by its own child. They are asked at once, so that a silent one costs its patience once."""
        for gpu in known:
            name = "the NVIDIA driver does not answer for this GPU"
            self._cards.setdefault(gpu.index, _Channel(gpu.index, name, self._clock)).ask_ahead()
        return [found for gpu in known for found in self._read_card(gpu)]

    def _read_card(self, gpu: Gpu) -> list[Gpu]:
        try:
            return self._cards[gpu.index].read(_PATIENCE_S)[1]
        except NvmlUnavailable as error:
            return [Gpu(gpu.index, gpu.uuid, gpu.name, problem=str(error))]

    def _close_cards(self) -> None:
        for channel in self._cards.values():
            channel.close()
        self._cards.clear()


class _Channel:
    """A child, its deadline, and when it is tried again after the deadline."""

    def __init__(self, index: int | None, silence: str, clock: Callable[[], float]) -> None:
        self._child = NvmlChild(index, clock)
        self._silence = silence
        self._clock = clock
        self._has_answered = False  # this child, not an earlier one
        self._retry_at, self._retry_s = float("-inf"), _RETRY_S
        self._since = ""
        self.has_given_up = False  # the deadline has passed since the last answer

    def ask_ahead(self) -> None:
        if self._clock() >= self._retry_at:
            self._child.ask_ahead()

    def read(self, patience_s: float) -> tuple[str | None, list[Gpu]]:
        """Raises NvmlUnavailable, and NvmlSilent `patience_s` after a request. After a deadline, nobody waits."""
        if self._clock() < self._retry_at:
            raise self._silent()
        try:
            found = self._child.read(0.0 if self.has_given_up else patience_s)
        except NoAnswer as error:
            if not self._since:
                self._since = f"{utc_now():%H:%M} UTC"
            if error.seconds >= (_DEADLINE_S if self._has_answered else _FIRST_DEADLINE_S):
                self._give_up()
            raise self._silent() from None
        self._has_answered, self.has_given_up = True, False
        self._retry_s = _RETRY_S
        if self._since:  # it is slow: have its next answer at the next read
            self._since = ""
            self._child.ask_ahead()
        return found

    def close(self) -> None:
        self._child.close()

    def _give_up(self) -> None:
        self._child.close()
        self._has_answered, self.has_given_up = False, True
        self._retry_at = self._clock() + self._retry_s
        self._retry_s = min(2 * self._retry_s, _LONGEST_RETRY_S)

    def _silent(self) -> NvmlSilent:
        return NvmlSilent(f"{self._silence} since {self._since}: {_ADVICE}")
