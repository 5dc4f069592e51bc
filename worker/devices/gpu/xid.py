"""Xid errors, by which the driver reports faults of a GPU or of a program on it.

NVML tells of an Xid only those who have registered for it, and keeps it until they ask. So each GPU is registered when
it is read first, and at each read the driver is asked, without waiting.
"""

import contextlib
from typing import Any

import pynvml  # type: ignore[import-untyped]

from services.clock import stamp, utc_now
from services.domain.gpus.health import xid_meaning

__all__ = ["XidListener"]

_MOST = 1000  # of one read: a card in trouble may report more than anyone can read


class XidListener:
    """The registrations of one connection. Raises nothing: a driver without events only has fewer figures."""

    def __init__(self) -> None:
        self._events: Any = None
        self._registered: set[str] = set()
        self._last: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(pynvml.NVMLError):
            self._events = pynvml.nvmlEventSetCreate()

    def last(self, uuid: str, handle: Any) -> dict[str, Any] | None:
        """The newest Xid of a GPU since the first call for it."""
        if self._events is None:
            return None
        if uuid not in self._registered:
            self._registered.add(uuid)
            with contextlib.suppress(pynvml.NVMLError):  # this card reports none
                pynvml.nvmlDeviceRegisterEvents(handle, pynvml.nvmlEventTypeXidCriticalError, self._events)
        with contextlib.suppress(pynvml.NVMLError):  # a timeout: there are no more
            self._receive()
        return self._last.get(uuid)

    def close(self) -> None:
        if self._events is not None:
            with contextlib.suppress(pynvml.NVMLError):  # the driver may be gone
                pynvml.nvmlEventSetFree(self._events)
            self._events = None

    def _receive(self) -> None:
        for _ in range(_MOST):
            event = pynvml.nvmlEventSetWait_v2(self._events, 0)
            code = int(event.eventData)
            found = {"code": code, "at": stamp(utc_now()), "meaning": xid_meaning(code)}
            self._last[pynvml.nvmlDeviceGetUUID(event.device)] = found
