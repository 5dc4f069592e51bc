"""The devices to train on: the GPUs that NVML lists, or CPU slots with a hard memory limit.

`python -m worker.devices` prints the devices of this host.
"""

from worker.devices.inventory import Devices
from worker.devices.parse_setting import DeviceSettingError, parse_devices
from worker.devices.processes import processes_of_others, with_descendants
from worker.devices.readings import DeviceReading, contract_device, trainer_environment

__all__ = [
    "DeviceReading",
    "DeviceSettingError",
    "Devices",
    "contract_device",
    "parse_devices",
    "processes_of_others",
    "trainer_environment",
    "with_descendants",
]
