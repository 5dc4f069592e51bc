"""`python -m worker`: the Celery worker of this host."""

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
    warnings.filterwarnings("ignore", message=".*superuser privileges")  # a container's root is nobody's superuser
    for chatty in ("celery.worker.strategy", "celery.app.trace"):  # a line for every wake-up
        logging.getLogger(chatty).setLevel(logging.WARNING)
    from worker.app import celery

    # One process beside the main one is enough for tasks that last milliseconds, and a stuck one can be killed.
    options = ["--quiet", "worker", "--pool=prefork", "--concurrency=1", "--without-gossip", "--without-mingle"]
    celery.worker_main([*options, f"--loglevel={settings.log_level}", f"--hostname=downshift@{settings.host}"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
