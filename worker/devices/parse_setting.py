"""Parse DOWNSHIFT_DEVICES: `auto`, or a list such as `gpu`, `gpu:0,gpu:2`, `cpu:2048,cpu:4096`, `gpu:0,cpu:2048`.

`gpu:0:1` is MIG instance 1 of GPU 0. A GPU with MIG that is named without an instance stands for all of them.
"""

import re
from dataclasses import dataclass

__all__ = ["DeviceSetting", "DeviceSettingError", "parse_devices"]

_PART = re.compile(r"(?P<kind>gpu|cpu)(?::(?P<number>[0-9]{1,9}))?|gpu:(?P<parent>[0-9]{1,9}):(?P<instance>[0-9]{1,9})")
_ALLOWED = (
    "allowed are auto alone, or a list of gpu (all of them), gpu:INDEX, gpu:INDEX:MIG and cpu:MB, e.g. gpu:0,cpu:2048"
)
_MOST_GPUS = 1024
_MOST_MB = 16 * 2**20  # 16 TB: more is a typing error, and would overflow 64-bit numbers of bytes


class DeviceSettingError(ValueError):
    """The message names the wrong part and what is allowed."""


@dataclass(frozen=True)
class DeviceSetting:
    auto: bool = False  # all GPUs, or one CPU slot if there are none
    every_gpu: bool = False
    gpus: tuple[int, ...] = ()
    instances: tuple[tuple[int, int], ...] = ()  # of MIG: the GPU's number and its own
    slots_mb: tuple[int, ...] = ()

    @property
    def wants_gpus(self) -> bool:
        return self.auto or self.every_gpu or bool(self.gpus) or bool(self.instances)


def parse_devices(text: str) -> DeviceSetting:
    """Parse `text`. Raises DeviceSettingError."""
    parts = [part.strip().lower() for part in text.split(",")]
    if parts == ["auto"]:
        return DeviceSetting(auto=True)
    every_gpu, gpus, slots, instances = False, list[int](), list[int](), list[tuple[int, int]]()
    for part in parts:
        found = _PART.fullmatch(part)
        if found is None:
            raise _error(part, "is not a device")
        number = None if found["number"] is None else int(found["number"])
        if found["instance"] is not None:
            instances.append((int(found["parent"]), int(found["instance"])))
        elif found["kind"] == "cpu":
            slots.append(_slot_mb(part, number))
        elif every_gpu or number in gpus or (number is None and gpus):
            raise _error(part, "names a GPU for the second time")
        elif number is None:
            every_gpu = True
        else:
            gpus.append(number)
        if any(index >= _MOST_GPUS for index in (*gpus, *(index for pair in instances for index in pair))):
            raise _error(part, f"the index must be below {_MOST_GPUS}")
        whole = (every_gpu and instances) or [pair for pair in instances if pair[0] in gpus]
        if whole or len(set(instances)) < len(instances):
            raise _error(part, "names a GPU for the second time")
    return DeviceSetting(every_gpu=every_gpu, gpus=tuple(gpus), instances=tuple(instances), slots_mb=tuple(slots))


def _slot_mb(part: str, number: int | None) -> int:
    if number is None:
        raise _error(part, "a CPU slot needs its limit in MB")
    if not 0 < number <= _MOST_MB:
        raise _error(part, f"the limit must be between 1 and {_MOST_MB} MB")
    return number


def _error(part: str, what: str) -> DeviceSettingError:
    return DeviceSettingError(f"DOWNSHIFT_DEVICES: {part!r}: {what}; {_ALLOWED}")
