"""`python -m worker`: the Celery worker of this host."""

import logging
import sys

from services.settings import Settings, SettingsError
from worker.devices import DeviceSettingError, parse_devices


def main() -> int:
    try:
        settings = Settings.from_environment()
        parse_devices(settings.devices)
    except (SettingsError, DeviceSettingError) as error:
        print(error, file=sys.stderr)
        return 2
    logging.basicConfig(level=settings.log_level.upper(), format="%(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    from worker.app import celery

    # One process beside the main one is enough for tasks that last milliseconds, and a stuck one can be killed.
    options = ["worker", "--pool=prefork", "--concurrency=1", "--without-gossip", "--without-mingle", "--quiet"]
    celery.worker_main([*options, f"--loglevel={settings.log_level}", f"--hostname=downshift@{settings.host}"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
