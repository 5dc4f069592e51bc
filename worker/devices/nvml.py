"""The driver's own figures, typed: the only module that imports pynvml.

NVML answers for each GPU apart. What is wrong with one is said of that one; what is wrong with the driver is
`NvmlUnavailable`. A call into a sick driver can hang, and nothing in the process can end it: callers that must go on
read from a thread or a process of its own.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pynvml  # type: ignore[import-untyped]

__all__ = ["Gpu", "Nvml", "NvmlUnavailable"]

# Opening costs tens of milliseconds on a real driver, and may start nvidia-modprobe: not on every look.
_RETRY_S = 15.0

_DISCONNECTED = (
    pynvml.NVMLError_Uninitialized,
    pynvml.NVMLError_DriverNotLoaded,
    pynvml.NVMLError_LibRmVersionMismatch,
)
_LOST = (pynvml.NVMLError_GpuIsLost, pynvml.NVMLError_ResetRequired)


class NvmlUnavailable(Exception):
    """No library, no driver, or a driver that does not answer; the message says which."""


@dataclass(frozen=True)
class Gpu:
    index: int
    uuid: str | None = None
    name: str | None = None
    total_bytes: int = 0
    free_bytes: int = 0
    utilisation: int | None = None
    temperature: int | None = None
    capability: tuple[int, int] | None = None
    processes: tuple[tuple[int, int | None], ...] = ()  # pid, bytes
    problem: str | None = None


class Nvml:
    """A connection to the driver, opened by the first `read` and kept; opened again when the driver was reloaded.

    While it is open the driver's kernel module is in use, as with any monitor: it cannot be unloaded.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._process: int | None = None  # that opened it: a connection is of no use to a forked child
        self._opened_at = float("-inf")
        self._doubtful = False  # a GPU was lost: only a new connection shows whether it came back
        self._trouble = ""

    def read(self) -> tuple[str | None, list[Gpu]]:
        """The driver's version and every GPU, those with a problem included."""
        with self._lock:
            try:
                return self._read()
            except pynvml.NVMLError as error:
                self._trouble = _sentence(error)
                raise NvmlUnavailable(self._trouble) from None

    def _read(self) -> tuple[str | None, list[Gpu]]:
        if self._process != os.getpid():
            self._open()
        elif self._doubtful and self._is_time():
            self._reopen()
        try:
            found = _driver(), _gpus()
        except pynvml.NVMLError:
            self._reopen()
            found = _driver(), _gpus()
        self._doubtful = any(gpu.problem for gpu in found[1])
        return found

    def _is_time(self) -> bool:
        return self._clock() - self._opened_at >= _RETRY_S

    def _open(self) -> None:
        if self._trouble and not self._is_time():
            raise NvmlUnavailable(self._trouble)
        self._opened_at = self._clock()
        pynvml.nvmlInit()
        self._process = os.getpid()
        self._trouble = ""

    def _reopen(self) -> None:
        self._process = None
        with contextlib.suppress(pynvml.NVMLError):  # it may be gone already
            pynvml.nvmlShutdown()
        self._open()


def _driver() -> str | None:
    version: str | None = _optional(pynvml.nvmlSystemGetDriverVersion)
    return version


def _gpus() -> list[Gpu]:
    return [_gpu(index) for index in range(pynvml.nvmlDeviceGetCount())]


def _gpu(index: int) -> Gpu:
    seen = Gpu(index)
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        seen = Gpu(index, uuid=pynvml.nvmlDeviceGetUUID(handle), name=_optional(pynvml.nvmlDeviceGetName, handle))
        return _figures(seen, handle)
    except _DISCONNECTED:
        raise
    except pynvml.NVMLError as error:
        return replace(seen, problem=_sentence(error))


def _figures(seen: Gpu, handle: Any) -> Gpu:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    busy = _optional(pynvml.nvmlDeviceGetUtilizationRates, handle)
    mig = _optional(pynvml.nvmlDeviceGetMigMode, handle)
    return replace(
        seen,
        total_bytes=int(memory.total),
        free_bytes=int(memory.free),
        utilisation=None if busy is None else int(busy.gpu),
        temperature=_temperature(handle),
        capability=_optional(pynvml.nvmlDeviceGetCudaComputeCapability, handle),
        processes=_processes(handle),
        # CUDA would train on one instance, whose memory is a part of what is told here of the whole.
        problem="MIG is on, and Downshift trains on whole GPUs: nvidia-smi -mig 0" if mig and mig[0] else None,
    )


def _temperature(handle: Any) -> int | None:
    for query in (pynvml.nvmlDeviceGetTemperatureV, pynvml.nvmlDeviceGetTemperature):  # older drivers: the second
        value = _optional(query, handle, pynvml.NVML_TEMPERATURE_GPU)
        if value is not None:
            return int(value)
    return None


def _processes(handle: Any) -> tuple[tuple[int, int | None], ...]:
    """Compute and graphics; who does both is listed in both with the same figure."""
    found: dict[int, int | None] = {}
    for query in (pynvml.nvmlDeviceGetComputeRunningProcesses_v3, pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3):
        for process in _optional(query, handle) or ():
            if found.get(process.pid) is None:
                found[process.pid] = process.usedGpuMemory
    return tuple(found.items())


def _optional(query: Callable[..., Any], *arguments: Any) -> Any:
    """None where this card, driver or container does not tell; a card that is lost is no such case."""
    try:
        return query(*arguments)
    except (*_DISCONNECTED, *_LOST):
        raise
    except pynvml.NVMLError:
        return None


_SENTENCES: dict[type[Exception], str] = {
    pynvml.NVMLError_LibraryNotFound: "there is no NVIDIA driver here (libnvidia-ml.so.1 is missing)",
    pynvml.NVMLError_DriverNotLoaded: "the NVIDIA driver is not loaded",
    pynvml.NVMLError_LibRmVersionMismatch: "the NVIDIA driver and its library have different versions: "
    "restart the worker, or the host if that does not help",
    pynvml.NVMLError_GpuIsLost: "the driver lost the GPU (it fell off the bus): see dmesg for Xid, reset it or reboot",
    pynvml.NVMLError_ResetRequired: "the GPU needs a reset: nvidia-smi --gpu-reset, or reboot",
    pynvml.NVMLError_NotSupported: "the driver does not report the GPU's memory",
}


def _sentence(error: Exception) -> str:
    return _SENTENCES.get(type(error), f"NVML: {error}")
