"""The driver's figures with types. Only this module, `nvml_health` and `xid` import pynvml.

NVML answers for each GPU separately: a problem of one GPU is reported with that GPU, a problem of the driver as
`NvmlUnavailable`. A call into a failing driver can hang, and nothing in the process can end it: only the child of
`nvml_child` reads here, and `driver` gives it a deadline.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pynvml  # type: ignore[import-untyped]

from worker.devices.gpu import nvml_health
from worker.devices.gpu.xid import XidListener

__all__ = ["Gpu", "GpuReader", "Nvml", "NvmlSilent", "NvmlUnavailable"]

# Opening takes tens of milliseconds on a real driver and may start nvidia-modprobe, so not at every read.
_RETRY_S = 15.0

_DISCONNECTED = (
    pynvml.NVMLError_Uninitialized,
    pynvml.NVMLError_DriverNotLoaded,
    pynvml.NVMLError_LibRmVersionMismatch,
)
_LOST = (pynvml.NVMLError_GpuIsLost, pynvml.NVMLError_ResetRequired)


# CUDA would train on one instance, which has only a part of the memory that NVML reports for the GPU.
_NO_INSTANCE = (
    "MIG is on, and the GPU has no instance: make some with nvidia-smi mig -cgi, or turn MIG off with nvidia-smi -mig 0"
)


class NvmlUnavailable(Exception):
    """There is no library or no driver, or the driver does not answer; the message says which."""


class NvmlSilent(NvmlUnavailable):
    """There is a driver, and it does not answer."""


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
    displays: frozenset[int] = frozenset()  # pids of processes that draw and do not compute
    health: dict[str, Any] | None = None  # see `nvml_health` and `xid`
    instances: "tuple[Gpu, ...]" = ()  # its MIG instances, with their indices among them
    problem: str | None = None


class GpuReader(Protocol):
    def read(self) -> tuple[str | None, list[Gpu]]:
        """The driver's version and every GPU, including those with a problem. Raises NvmlUnavailable."""


class Nvml:
    """A connection to the driver. The first `read` opens it; it is opened again after the driver was reloaded.

    While it is open, the driver's kernel module cannot be unloaded.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._process: int | None = None  # the pid that opened it: a forked child cannot use it
        self._opened_at = float("-inf")
        self._needs_reopen = False  # a GPU has a problem: only a new connection shows whether it is solved
        self._problem = ""
        self._xids: XidListener | None = None

    def read(self, index: int | None = None) -> tuple[str | None, list[Gpu]]:
        """The driver's version and every GPU, including those with a problem; or only the GPU with this NVML number."""
        with self._lock:
            try:
                return self._read(index)
            except pynvml.NVMLError as error:
                self._problem = _sentence(error)
                raise NvmlUnavailable(self._problem) from None

    def _read(self, index: int | None) -> tuple[str | None, list[Gpu]]:
        if self._process != os.getpid():
            self._open()
        elif self._needs_reopen and self._may_retry():
            self._reopen()
        try:
            found = _driver(), self._gpus(index)
        except pynvml.NVMLError:
            self._reopen()
            found = _driver(), self._gpus(index)
        self._needs_reopen = any(gpu.problem for gpu in found[1])
        return found

    def _gpus(self, index: int | None) -> list[Gpu]:
        assert self._xids is not None
        numbers = range(pynvml.nvmlDeviceGetCount()) if index is None else [index]
        return [_gpu(number, self._xids) for number in numbers]

    def _may_retry(self) -> bool:
        return self._clock() - self._opened_at >= _RETRY_S

    def _open(self) -> None:
        if self._problem and not self._may_retry():
            raise NvmlUnavailable(self._problem)
        self._opened_at = self._clock()
        pynvml.nvmlInit()
        self._process = os.getpid()
        self._xids = XidListener()
        self._problem = ""

    def _reopen(self) -> None:
        self._process = None
        if self._xids is not None:
            self._xids.close()
        with contextlib.suppress(pynvml.NVMLError):  # it may be closed already
            pynvml.nvmlShutdown()
        self._open()


def _driver() -> str | None:
    version: str | None = _optional(pynvml.nvmlSystemGetDriverVersion)
    return version


def _gpu(index: int, xids: XidListener) -> Gpu:
    seen, xid = Gpu(index), None
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        uuid: str = pynvml.nvmlDeviceGetUUID(handle)
        seen = Gpu(index, uuid=uuid, name=_optional(pynvml.nvmlDeviceGetName, handle))
        xid = xids.last(uuid, handle)
        return _figures(seen, handle, xid)
    except _DISCONNECTED:
        raise
    except pynvml.NVMLError as error:
        return replace(seen, problem=_sentence(error), health={"xid": xid} if xid else None)


def _figures(seen: Gpu, handle: Any, xid: dict[str, Any] | None) -> Gpu:
    busy = _optional(pynvml.nvmlDeviceGetUtilizationRates, handle)
    mig = _optional(pynvml.nvmlDeviceGetMigMode, handle)
    found = replace(
        _memory(seen, handle),
        utilisation=None if busy is None else int(busy.gpu),
        temperature=_temperature(handle),
        capability=_optional(pynvml.nvmlDeviceGetCudaComputeCapability, handle),
        displays=_displays(handle),
        health={**nvml_health.read(handle, _optional), "xid": xid},
    )
    if not mig or not mig[0]:
        return found
    instances = _instances(found, handle)
    return replace(found, instances=instances, problem=None if instances else _NO_INSTANCE)


def _memory(seen: Gpu, handle: Any) -> Gpu:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    return replace(seen, total_bytes=int(memory.total), free_bytes=int(memory.free), processes=_processes(handle))


def _instances(parent: Gpu, handle: Any) -> tuple[Gpu, ...]:
    """A MIG instance has memory and processes of its own. The rest is the GPU's."""
    found = []
    for index in range(_optional(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        part = _optional(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if part is not None:
            name = _optional(pynvml.nvmlDeviceGetName, part) or f"{parent.name or 'GPU'} MIG {index}"
            seen = replace(parent, index=index, uuid=pynvml.nvmlDeviceGetUUID(part), name=name, utilisation=None)
            found.append(_memory(seen, part))
    return tuple(found)


def _temperature(handle: Any) -> int | None:
    for query in (
        pynvml.nvmlDeviceGetTemperatureV,
        pynvml.nvmlDeviceGetTemperature,
    ):  # older drivers have only the second
        value = _optional(query, handle, pynvml.NVML_TEMPERATURE_GPU)
        if value is not None:
            return int(value)
    return None


def _processes(handle: Any) -> tuple[tuple[int, int | None], ...]:
    """Compute and graphics processes. NVML lists a process that does both twice, with the same figure."""
    found: dict[int, int | None] = {}
    for query in (pynvml.nvmlDeviceGetComputeRunningProcesses_v3, pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3):
        for process in _optional(query, handle) or ():
            if found.get(process.pid) is None:
                found[process.pid] = process.usedGpuMemory
    return tuple(found.items())


def _displays(handle: Any) -> frozenset[int]:
    drawing = _optional(pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3, handle) or ()
    computing = _optional(pynvml.nvmlDeviceGetComputeRunningProcesses_v3, handle) or ()
    return frozenset(process.pid for process in drawing) - {process.pid for process in computing}


def _optional(query: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or None if this card, driver or container does not report it. Raises if the card is lost."""
    try:
        return query(*arguments)
    except (*_DISCONNECTED, *_LOST):
        raise
    except pynvml.NVMLError:
        return None


_SENTENCES: dict[type[Exception], str] = {
    pynvml.NVMLError_LibraryNotFound: "there is no NVIDIA driver (libnvidia-ml.so.1 is missing)",
    pynvml.NVMLError_DriverNotLoaded: "the NVIDIA driver is not loaded",
    pynvml.NVMLError_LibRmVersionMismatch: "the NVIDIA driver and its library have different versions: "
    "restart the worker, or the host if that does not help",
    pynvml.NVMLError_GpuIsLost: "the driver lost the GPU (it fell off the bus): see dmesg for Xid, reset it or reboot",
    pynvml.NVMLError_ResetRequired: "the GPU needs a reset: nvidia-smi --gpu-reset, or reboot",
    pynvml.NVMLError_NotSupported: "the driver does not report the GPU's memory",
}


def _sentence(error: Exception) -> str:
    return _SENTENCES.get(type(error), f"NVML: {error}")
