"""`python -m worker.health`: exit with 0 while this host's worker reports its devices. For a container's health check.

It asks the database, not the process: a worker that runs but no longer reports its devices is not healthy.
"""

import datetime
import sys
from contextlib import closing

from services.settings import Settings
from services.store.devices import devices
from services.store.engine import Store


def problem(settings: Settings, now: datetime.datetime) -> str | None:
    """What is wrong with the worker of `settings.host`; None if it is healthy. Raises what the database raises."""
    with closing(Store.open(settings.database_url)) as store, store.reading() as session:
        seen = [device.seen_at for device in devices.of_host(session, settings.host)]
    if not seen:
        return f"{settings.host} has reported no device"
    age = (now - max(seen)).total_seconds()
    if age > settings.lease_s:
        return f"{settings.host} reported its devices {age:.0f} s ago; it should do so every {settings.poll_s:g} s"
    return None


def main() -> int:
    found = problem(Settings.from_environment(), datetime.datetime.now(datetime.UTC))
    print(found or "healthy")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
