"""One look at one device, and what the trainer must be told to train on it."""

from dataclasses import dataclass

from services.domain.contract import Device, DeviceKind

MB = 2**20


@dataclass(frozen=True)
class HeldBy:
    """A process on a GPU, or one that has the host's memory where a CPU slot would need it.

    `name` is None where the pid means nothing here: it has just ended, or this is a container and the pid is the
    host's. Whether such a process is ours cannot be known.
    """

    pid: int
    used_bytes: int | None = None  # None: the driver does not say (MIG, vGPU)
    name: str | None = None


@dataclass(frozen=True)
class DeviceReading:
    """What was seen of a device just now. A device with a `problem` has no free memory and must not be leased."""

    key: str  # "gpu-0", "cpu-0": unique on a host; follows the card, not NVML's numbering, while the process lives
    kind: DeviceKind
    index: int  # GPU: NVML's number at this moment; CPU: the slot's place in the setting
    name: str
    total_bytes: int
    free_bytes: int  # GPU: as NVML says, whoever holds the rest; CPU: the limit, or what the host has left if less
    utilisation: int | None = None  # percent
    temperature: int | None = None  # degrees Celsius
    processes: tuple[HeldBy, ...] = ()
    bfloat16: bool = False  # worth choosing; False on CPU slots, where oneDNN is off and bfloat16 is slow
    uuid: str | None = None
    driver: str | None = None
    problem: str | None = None
    pinned: bool = False  # GPU: the trainer is shown this GPU alone, because its number cannot be relied on


def contract_device(reading: DeviceReading, async_allocator: bool = False) -> Device:
    """The device in the attempt's spec. It means what it says only together with `trainer_environment`."""
    if reading.kind is DeviceKind.CPU:
        return Device(memory_limit_mb=reading.total_bytes // MB)
    gpu = 0 if reading.pinned else reading.index
    return Device(kind=DeviceKind.GPU, gpu=gpu, async_allocator=async_allocator)


def trainer_environment(reading: DeviceReading) -> dict[str, str]:
    """What the trainer's environment must hold, over what it inherits, so that it trains on this very device."""
    if reading.kind is DeviceKind.CPU:
        return {}
    # CUDA counts the fastest GPU first unless told; NVML, nvidia-smi and this order go by the PCI bus.
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    if reading.pinned and reading.uuid:
        return {**order, "CUDA_VISIBLE_DEVICES": reading.uuid}
    return order
