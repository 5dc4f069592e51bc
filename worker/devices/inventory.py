"""All devices of this host that DOWNSHIFT_DEVICES names."""

from collections.abc import Mapping
from pathlib import Path

from services.domain.contract import DeviceKind
from services.domain.sizes import in_mb
from worker.devices.gpu.cuda_visible import Place
from worker.devices.gpu.driver import Driver
from worker.devices.gpu.gpus import Gpus
from worker.devices.gpu.nvml import GpuReader
from worker.devices.host_memory import available_bytes, slot_bytes
from worker.devices.parse_setting import DeviceSetting
from worker.devices.processes import largest_processes
from worker.devices.readings import MB, DeviceReading

__all__ = ["Devices"]


class Devices:
    """Create one and keep it: it holds the driver connection, the names of the cards and the size of an `auto` slot.

    `cuda_visible` is the worker's CUDA_VISIBLE_DEVICES, None if it is not set. `auto_slot_bytes` is the size that an
    `auto` slot had before a restart: computed again while a trainer runs in the slot, it would be too small.
    """

    def __init__(
        self,
        setting: DeviceSetting,
        *,
        cuda_visible: str | None,
        auto_slot_bytes: int | None = None,
        nvml: GpuReader | None = None,
        root: Path = Path("/"),
    ) -> None:
        self._setting = setting
        self._gpus = Gpus(cuda_visible, nvml or Driver())
        self._auto_slot_bytes = auto_slot_bytes
        self._root = root
        self.no_gpu_because: str | None = None  # why the last read of `auto` returned a CPU slot

    def read(self) -> list[DeviceReading]:
        """Every device, including those with a problem. Never empty; a failing GPU is a problem, not an exception.

        `auto` means the GPUs once there are any, even if all of them are lost later, or if there is a driver that does
        not answer: it must not move jobs that were planned for a GPU to the CPU.
        """
        setting = self._setting
        gpus = self._gpus.read() if setting.wants_gpus else {}
        if setting.auto and not gpus and not self._gpus.is_silent:
            self.no_gpu_because = self._gpus.why_missing(0)
            return self._slots([self._auto_slot()])
        self.no_gpu_because = None
        wanted = [*((number, None) for number in setting.gpus), *setting.instances]
        if wanted:
            chosen = [device for place in wanted for device in self._chosen(gpus, place)]
        else:
            chosen = list(gpus.values()) or ([self._missing(0)] if setting.wants_gpus else [])
        return chosen + self._slots([mb * MB for mb in setting.slots_mb])

    def _auto_slot(self) -> int:
        if self._auto_slot_bytes is None:
            self._auto_slot_bytes = slot_bytes(available_bytes(self._root))
        return self._auto_slot_bytes

    def _chosen(self, gpus: Mapping[Place, DeviceReading], wanted: Place) -> list[DeviceReading]:
        """The device that the setting names; for a GPU with MIG, all its instances."""
        found = [device for place, device in gpus.items() if place == wanted or (place[0], None) == wanted]
        return found or [self._missing(*wanted)]

    def _missing(self, number: int, instance: int | None = None) -> DeviceReading:
        problem = self._gpus.why_missing(number, instance)
        key = f"gpu-{number}" if instance is None else f"gpu-{number}-mig-{instance}"
        name = f"GPU {number}" if instance is None else f"GPU {number} MIG {instance}"
        return DeviceReading(key, DeviceKind.GPU, number, name, 0, 0, problem=problem)

    def _slots(self, limits: list[int]) -> list[DeviceReading]:
        if not limits:
            return []
        available = available_bytes(self._root)
        # Only if memory is short: this reads a file of every process.
        holders = largest_processes(self._root / "proc") if available < max(limits) else ()
        return [
            DeviceReading(
                f"cpu-{index}",
                DeviceKind.CPU,
                index,
                f"CPU slot, {in_mb(limit)}",
                limit,
                min(limit, available),
                processes=holders if available < limit else (),
            )
            for index, limit in enumerate(limits)
        ]
