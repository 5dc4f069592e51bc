"""The state of a device at one moment, and what the trainer needs to train on it."""

from dataclasses import dataclass
from typing import Any

from services.domain.contract import Device, DeviceKind
from services.domain.memory.gpu_limit import WORKSPACE_BYTES, reserve_mb

__all__ = ["MB", "DeviceReading", "MemoryHolder", "contract_device", "trainer_environment"]

MB = 2**20


@dataclass(frozen=True)
class MemoryHolder:
    """A process that holds memory of a GPU, or host memory that a CPU slot would need.

    `name` is None if there is no such pid here: the process has just ended, or this is a container and the pid is the
    host's. Whether such a process is ours cannot be known.
    """

    pid: int
    used_bytes: int | None = None  # None: the driver does not report it (MIG, vGPU)
    name: str | None = None
    is_display: bool = False  # draws and does not compute: a desktop, which stays


@dataclass(frozen=True)
class DeviceReading:
    """The state of a device. One with a `problem` must not be leased, and has no figures if it cannot be read."""

    key: str  # "gpu-0", "gpu-0-mig-1", "cpu-0": unique on a host; stays with the card when NVML renumbers (see `gpus`)
    kind: DeviceKind
    index: int  # GPU: NVML's present number; CPU: the slot's position in the setting
    name: str
    total_bytes: int
    free_bytes: int  # GPU: as NVML reports; CPU: the limit, or what the host has left if that is less
    utilisation: int | None = None  # percent
    temperature: int | None = None  # degrees Celsius
    processes: tuple[MemoryHolder, ...] = ()
    bfloat16: bool = False  # fast; False on CPU slots, where oneDNN is off and bfloat16 is slow
    uuid: str | None = None
    driver: str | None = None
    capability: tuple[int, int] | None = None  # compute capability of a GPU
    health: dict[str, Any] | None = None  # of a GPU, see `gpu.nvml_health` and `gpu.xid`
    problem: str | None = None


def contract_device(reading: DeviceReading, async_allocator: bool) -> Device:
    """The device in the attempt's spec. Valid only together with `trainer_environment`."""
    if reading.kind is DeviceKind.CPU:
        return Device(memory_limit_mb=reading.total_bytes // MB)
    return Device(
        kind=DeviceKind.GPU,
        gpu=0,  # the only one that the trainer sees
        async_allocator=async_allocator,
        reserve_mb=reserve_mb(reading.capability),
        workspace_mb=WORKSPACE_BYTES // MB,
    )


def trainer_environment(reading: DeviceReading) -> dict[str, str]:
    """Environment variables for the trainer, in addition to the inherited ones, to train on this device."""
    if reading.kind is DeviceKind.CPU:
        return {}
    # By default CUDA numbers the fastest GPU first. NVML, nvidia-smi and PCI_BUS_ID number by the PCI bus.
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    # By uuid: TensorFlow leaves out GPUs that it has no use for, so its numbers are not NVML's.
    return {**order, "CUDA_VISIBLE_DEVICES": reading.uuid or str(reading.index)}
