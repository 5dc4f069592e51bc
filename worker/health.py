"""`python -m worker.health`: ends with 0 while this host's worker reports its devices. For a container's health check.

Asks the database rather than the process: a worker that runs but no longer looks after its devices is not well.
"""

import datetime
import sys
from contextlib import closing

from services.settings import Settings
from services.store import devices
from services.store.engine import Store


def complaint(settings: Settings, now: datetime.datetime) -> str | None:
    """What is wrong with the worker of `settings.host`; None: nothing. Raises what the database raises."""
    with closing(Store.open(settings.database_url)) as store, store.reading() as session:
        seen = [device.seen_at for device in devices.of_host(session, settings.host)]
    if not seen:
        return f"{settings.host} has reported no device"
    age = (now - max(seen)).total_seconds()
    if age > settings.lease_s:
        return f"{settings.host} reported its devices {age:.0f} s ago, and should do so every {settings.poll_s:g} s"
    return None


def main() -> int:
    wrong = complaint(Settings.from_environment(), datetime.datetime.now(datetime.UTC))
    print(wrong or "well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
