"""`python -m worker`: run the Celery worker of this host."""

import logging
import sys
import warnings

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
    warnings.filterwarnings("ignore", message=".*superuser privileges")  # root is usual in a container
    for name in ("celery.worker.strategy", "celery.app.trace"):  # they log a line for every wake-up
        logging.getLogger(name).setLevel(logging.WARNING)
    # Imported only now: it reads the settings when it is imported, and bad ones were reported above.
    from worker.app import celery

    # Tasks last milliseconds, so one process beside the main one is enough. Celery can kill it if a task hangs.
    options = ["--quiet", "worker", "--pool=prefork", "--concurrency=1", "--without-gossip", "--without-mingle"]
    celery.worker_main([*options, f"--loglevel={settings.log_level}", f"--hostname=downshift@{settings.host}"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
