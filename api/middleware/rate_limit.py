"""How much one client may ask in a minute. Counted in this process: two of them let through twice as much."""

import ipaddress
import threading
import time
from collections.abc import Callable, Hashable

from services.errors import TooFast

__all__ = ["Logins", "Rate", "network_of"]

_MOST_KEYS = 10_000
_MOST_PLACES = 20


class Rate:
    """A bucket of `per_minute` for each key, which fills again steadily. 0: no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[Hashable, float] = {}  # when each bucket that is not full will be
        self._lock = threading.Lock()

    def take(self, key: Hashable, what: str = "requests") -> None:
        """Raises TooFast, which says when to come again."""
        if not self._per_minute:
            return
        each = 60.0 / self._per_minute
        with self._lock:
            now = self._clock()
            full_at = max(self._full_at.get(key, now), now) + each
            if full_at - now > 60.0 + 1e-6:
                raise TooFast(f"the limit is {self._per_minute} {what} a minute: wait a little", full_at - now - 60.0)
            if len(self._full_at) >= _MOST_KEYS:
                self._full_at = {other: at for other, at in self._full_at.items() if at > now}
            self._full_at[key] = full_at


class Logins:
    """How often passwords and tokens may be tried: nobody tries them all, from one place or from many.

    Those who try from many places keep nobody out of his own account where he has been in before.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._by_address_and_name = Rate(10, clock)
        self._by_address = Rate(60, clock)
        self._by_name = Rate(60, clock)  # from places where this one was never in
        self._places: dict[str, tuple[str, ...]] = {}  # where each was in, the newest first

    def take(self, address: str, name: str) -> None:
        """`name`: "" where it is not said. Raises TooFast."""
        network, what = network_of(address), "log-ins"
        self._by_address.take(network, what)
        self._by_address_and_name.take((network, name), what)
        if name and network not in self._places.get(name, ()):
            self._by_name.take(name, what)

    def succeeded(self, address: str, name: str) -> None:
        network = network_of(address)
        others = (place for place in self._places.get(name, ()) if place != network)
        self._places[name] = (network, *others)[:_MOST_PLACES]


def network_of(address: str) -> str:
    """Whoever has one address of IPv6 has 2 to the power of 64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
