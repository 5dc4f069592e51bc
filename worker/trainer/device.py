"""The device an attempt trains on: a GPU with memory growth, or a CPU slot with a hard limit."""

import os
from typing import Any

from services.domain.contract import Device, DeviceKind, Reason
from worker.trainer.endings import Ending


def environment(device: Device) -> dict[str, str]:
    """What TensorFlow reads from the environment when it is imported, so it must be set before."""
    if device.kind is DeviceKind.CPU:
        # The allocator that GPUs use, on the CPU: it fails at the limit exactly as a card does.
        slot = {
            "TF_CPU_ALLOCATOR_USE_BFC": "1",
            "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(device.memory_limit_mb),
            # TensorFlow's oneDNN kernels go on after a failed allocation and die of a segmentation fault.
            "TF_ENABLE_ONEDNN_OPTS": "0",
        }
        return {"CUDA_VISIBLE_DEVICES": "-1", **(slot if device.memory_limit_mb else {})}
    growth = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    return {**growth, "TF_GPU_ALLOCATOR": "cuda_malloc_async"} if device.async_allocator else growth


def prepare_environment(device: Device) -> None:
    os.environ.update(environment(device))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")  # the allocator's dump is logged as information
    # Virtual machines announce AMX and then trap on it: oneDNN's bfloat16 kernels died of an illegal instruction.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


def configure(device: Device, config: Any) -> str:
    """Choose the device through `config` (that is `tf.config`); returns its name for `memory_info`.

    Growth is set on every physical GPU, before any is initialised: TensorFlow refuses it afterwards, and a GPU
    left without it is taken whole, neighbours or not.
    """
    if device.kind is DeviceKind.CPU:
        return "CPU:0"
    gpus = config.list_physical_devices("GPU")
    if device.gpu >= len(gpus):
        raise Ending(
            Reason.BAD_DEVICE,
            f"GPU {device.gpu} was asked for, but TensorFlow sees {len(gpus)} GPU(s): check the driver, "
            f"CUDA_VISIBLE_DEVICES, and that the GPU lock file (requirements-gpu.lock) is installed",
        )
    for gpu in gpus:
        config.experimental.set_memory_growth(gpu, True)
    config.set_visible_devices(gpus[device.gpu], "GPU")
    return "GPU:0"  # the only visible one


class Memory:
    """The device allocator's own counters, in bytes."""

    def __init__(self, device: Device, name: str, config: Any) -> None:
        self._experimental = config.experimental
        self._name = name
        self._limit = device.memory_limit_mb * 2**20 or None
        self._peak_before = 0

    def info(self) -> dict[str, int | None]:
        """Current bytes and the peak since the process began, whatever segments were measured in between."""
        now = self._read()
        peak = max(now["peak"], self._peak_before)
        return {"limit": self._limit, "current": now["current"], "peak": peak}

    def start_segment(self) -> None:
        """From here on, `segment_peak` counts anew."""
        self._peak_before = max(self._peak_before, self._read()["peak"])
        if self._counted():
            self._experimental.reset_memory_stats(self._name)

    def segment_peak(self) -> int:
        return self._read()["peak"]

    def _counted(self) -> bool:
        return self._limit is not None or self._name.startswith("GPU")

    def _read(self) -> dict[str, int]:
        # A CPU without a limit runs on malloc, which counts nothing.
        return self._experimental.get_memory_info(self._name) if self._counted() else {"current": 0, "peak": 0}
