"""All devices of this host that DOWNSHIFT_DEVICES names."""

from pathlib import Path

from services.domain.contract import DeviceKind
from services.domain.sizes import in_mb
from worker.devices.gpus import Gpus
from worker.devices.host_memory import available_bytes, slot_bytes
from worker.devices.nvml import Nvml
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
        nvml: Nvml | None = None,
        root: Path = Path("/"),
    ) -> None:
        self._setting = setting
        self._gpus = Gpus(cuda_visible, nvml or Nvml())
        self._auto_slot_bytes = auto_slot_bytes
        self._root = root
        self.no_gpu_because: str | None = None  # why the last read of `auto` returned a CPU slot

    def read(self) -> list[DeviceReading]:
        """Every device, including those with a problem. Never empty; a failing GPU is a problem, not an exception.

        `auto` means the GPUs once there are any, even if all of them are lost later: a driver that fails must not move
        jobs that were planned for a GPU to the CPU.
        """
        setting = self._setting
        gpus = self._gpus.read() if setting.wants_gpus else {}
        if setting.auto and not gpus:
            self.no_gpu_because = self._gpus.why_missing(0)
            return self._slots([self._auto_slot()])
        self.no_gpu_because = None
        if setting.gpus:
            chosen = [gpus.get(number) or self._missing(number) for number in setting.gpus]
        else:
            chosen = list(gpus.values()) or ([self._missing(0)] if setting.every_gpu else [])
        return chosen + self._slots([mb * MB for mb in setting.slots_mb])

    def _auto_slot(self) -> int:
        if self._auto_slot_bytes is None:
            self._auto_slot_bytes = slot_bytes(available_bytes(self._root))
        return self._auto_slot_bytes

    def _missing(self, number: int) -> DeviceReading:
        problem = self._gpus.why_missing(number)
        return DeviceReading(f"gpu-{number}", DeviceKind.GPU, number, f"GPU {number}", 0, 0, problem=problem)

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
