"""What there is to train on: the GPUs that NVML sees, or CPU slots with a hard limit.

`python -m worker.devices` prints what Downshift sees on this box.
"""

from worker.devices.inventory import Devices
from worker.devices.parse_setting import DeviceSetting, DeviceSettingError, parse_devices
from worker.devices.processes import family, others
from worker.devices.readings import DeviceReading, HeldBy, contract_device, trainer_environment

__all__ = [
    "DeviceReading",
    "DeviceSetting",
    "DeviceSettingError",
    "Devices",
    "HeldBy",
    "contract_device",
    "family",
    "others",
    "parse_devices",
    "trainer_environment",
]
