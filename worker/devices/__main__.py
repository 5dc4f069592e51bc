"""Print the devices of this host, one JSON object a line.

python -m worker.devices                    as DOWNSHIFT_DEVICES says; auto if it is not set
python -m worker.devices gpu:0,cpu:2048     as this argument says
"""

import argparse
import dataclasses
import json
import os
import sys

from services.settings import Settings, SettingsError
from worker.devices.inventory import Devices
from worker.devices.parse_setting import DeviceSettingError, parse_devices


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker.devices", description="Print the devices of this host.")
    parser.add_argument("devices", nargs="?", help="instead of DOWNSHIFT_DEVICES, e.g. gpu:0,cpu:2048")
    options = parser.parse_args(arguments)
    try:
        setting = parse_devices(options.devices or Settings.from_environment().devices)
    except (DeviceSettingError, SettingsError) as error:
        print(error, file=sys.stderr)
        return 2
    devices = Devices(setting, cuda_visible=os.environ.get("CUDA_VISIBLE_DEVICES"))
    for reading in devices.read():
        print(json.dumps(dataclasses.asdict(reading)))
    if devices.no_gpu_because:
        print(f"no GPU: {devices.no_gpu_because}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
