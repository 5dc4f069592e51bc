"""Configure the device of an attempt (a GPU with memory growth, or a CPU slot with a limit) and read its memory."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from services.domain.contract import AllocatorStats, Device, DeviceKind, HostCores, Reason
from worker.trainer.failures import AttemptEnd


def environment(device: Device) -> dict[str, str]:
    """The environment variables that TensorFlow reads at import. Set them before."""
    if device.kind is DeviceKind.CPU:
        # Use the GPU's allocator on the CPU: at its limit, it fails exactly as on a GPU.
        slot = {
            "TF_CPU_ALLOCATOR_USE_BFC": "1",
            "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(device.memory_limit_mb),
            # oneDNN kernels ignore a failed allocation and crash with a segmentation fault.
            "TF_ENABLE_ONEDNN_OPTS": "0",
        }
        return {"CUDA_VISIBLE_DEVICES": "-1", **(slot if device.memory_limit_mb else {})}
    found = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    if device.async_allocator:
        found["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"
    if device.reserve_mb:
        found["TF_DEVICE_MIN_SYS_MEMORY_IN_MB"] = str(device.reserve_mb)
    if device.workspace_mb:
        found["TF_CUDNN_WORKSPACE_LIMIT_IN_MB"] = str(device.workspace_mb)
    return found


_LEAST_THREADS = 2  # with one, an operation that waits would hold up the launch of all others
_OURS = ("TF_GPU_ALLOCATOR", "TF_CPU_ALLOCATOR_USE_BFC", "TF_CPU_BFC_MEM_LIMIT_IN_MB")


def prepare_environment(device: Device) -> None:
    for name in _OURS:  # exported in the caller's shell, they would change what is measured
        os.environ.pop(name, None)
    os.environ.update(environment(device))
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"  # the allocator logs its dump at level INFO


def threads(host: HostCores) -> int:
    """The cores for this trainer: its share of the host's, within those that its process may use."""
    own = len(os.sched_getaffinity(0))
    return min(own, HostCores(host.cores or own, host.devices).threads)


def configure(device: Device, config: Any, host: HostCores) -> str:
    """Select the device through `config` (`tf.config`); returns its name for `get_memory_info`.

    Sets memory growth on every physical GPU before any is initialised: TensorFlow refuses it afterwards, and without
    it TensorFlow takes all memory of a GPU, also where other processes use it.
    """
    if device.kind is DeviceKind.CPU:
        return "CPU:0"  # its step computes on every core that other trainers leave idle
    share = max(_LEAST_THREADS, threads(host))
    config.threading.set_intra_op_parallelism_threads(share)
    config.threading.set_inter_op_parallelism_threads(share)
    gpus = config.list_physical_devices("GPU")
    if device.gpu >= len(gpus):
        raise AttemptEnd(
            Reason.BAD_DEVICE,
            f"GPU {device.gpu} was asked for, but TensorFlow sees {len(gpus)} GPU(s): check the driver, "
            f"CUDA_VISIBLE_DEVICES, and that CUDA is installed (make env LOCK=requirements-gpu.lock)",
        )
    for gpu in gpus:
        config.experimental.set_memory_growth(gpu, True)
    config.set_visible_devices(gpus[device.gpu], "GPU")
    return "GPU:0"  # the only visible one


def allocator_limit(device: Device, local_devices: Callable[[], Any]) -> int | None:
    """The bytes that the allocator may have: of a GPU, as TensorFlow states it; None on a CPU without a limit.

    `local_devices`: TensorFlow's `device_lib.list_local_devices`. It starts the GPU: call it after `configure`, and
    with the environment of `prepare_environment`, which keeps it from taking all memory.
    """
    if device.kind is DeviceKind.CPU:
        return device.memory_limit_mb * 2**20 or None
    return next((int(one.memory_limit) for one in local_devices() if one.device_type == "GPU"), None)


class Memory:
    """The device allocator's counters in bytes. A CPU without a limit uses malloc and has none: all are None."""

    def __init__(self, device: Device, name: str, config: Any, limit: int | None = None) -> None:
        self._experimental = config.experimental
        self.name = name
        self.limit = limit
        self.is_gpu = device.kind is DeviceKind.GPU
        self.is_counted = self.limit is not None or self.is_gpu
        self._peak = 0
        self._evaluation_peak: int | None = None

    def counters(self) -> AllocatorStats:
        """`peak` is training's alone; evaluation has `evaluation_peak`."""
        if not self.is_counted:
            return AllocatorStats()
        now = self._experimental.get_memory_info(self.name)
        peak = max(now["peak"], self._peak)
        return AllocatorStats(self.limit, now["current"], peak, evaluation_peak=self._evaluation_peak)

    def peak_of(self, run: Callable[[], None]) -> int:
        """The peak while `run` runs. It counts for neither training nor evaluation. Requires `is_counted`."""
        self._reset()
        try:
            run()
            return int(self._experimental.get_memory_info(self.name)["peak"])
        finally:
            self._reset()

    def forget_warm_up(self) -> None:
        """Call it after the first step: on a GPU its peak includes scratch memory for choosing algorithms."""
        if self.is_gpu:
            self._reset()

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Inside, memory counts towards evaluation's peak, not training's."""
        self._peak = self.counters().peak or 0
        self._reset()
        try:
            yield
        finally:
            if self.is_counted:
                peak = self._experimental.get_memory_info(self.name)["peak"]
                self._evaluation_peak = max(peak, self._evaluation_peak or 0)
            self._reset()

    def _reset(self) -> None:
        if self.is_counted:
            self._experimental.reset_memory_stats(self.name)
