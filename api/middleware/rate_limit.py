"""Rate limits. They are counted in this process: two processes let through twice as much."""

import ipaddress
import threading
import time
from collections.abc import Callable, Hashable

from services.errors import TooFast

__all__ = ["LoginLimits", "RateLimit", "network_of"]

_MAX_KEYS = 10_000
_MAX_NETWORKS = 20


class RateLimit:
    """A token bucket of `per_minute` for each key, refilled steadily. 0: no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[Hashable, float] = {}  # when a bucket will be full again; full ones are left out
        self._lock = threading.Lock()

    def take(self, key: Hashable, what: str = "requests") -> None:
        """Take one. Raises TooFast, which says when to try again. `what` names the unit in its message."""
        if not self._per_minute:
            return
        each = 60.0 / self._per_minute
        with self._lock:
            now = self._clock()
            full_at = max(self._full_at.get(key, now), now) + each
            if full_at - now > 60.0 + 1e-6:
                raise TooFast(f"the limit is {self._per_minute} {what} a minute: wait a little", full_at - now - 60.0)
            if len(self._full_at) >= _MAX_KEYS:
                self._full_at = {other: at for other, at in self._full_at.items() if at > now}
            self._full_at[key] = full_at


class LoginLimits:
    """Limit guesses of passwords and tokens, from one network or from many.

    Guesses from many networks do not lock users out of the networks where they have logged in before.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._by_address_and_name = RateLimit(10, clock)
        self._by_address = RateLimit(60, clock)
        self._by_name = RateLimit(60, clock)  # from networks where this user has never logged in
        self._known_networks: dict[str, tuple[str, ...]] = {}  # by user name, newest first

    def take(self, address: str, name: str) -> None:
        """Count a try. `name` is "" for a log-in with a token. Raises TooFast."""
        network, what = network_of(address), "log-ins"
        self._by_address.take(network, what)
        self._by_address_and_name.take((network, name), what)
        if name and network not in self._known_networks.get(name, ()):
            self._by_name.take(name, what)

    def succeeded(self, address: str, name: str) -> None:
        network = network_of(address)
        rest = (other for other in self._known_networks.get(name, ()) if other != network)
        self._known_networks[name] = (network, *rest)[:_MAX_NETWORKS]


def network_of(address: str) -> str:
    """The address, or its /64 network for IPv6: one client usually owns all of its addresses."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
