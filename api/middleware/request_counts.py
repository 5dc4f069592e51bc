"""Count requests by route and status, and the time until an answer begins."""

import threading
from collections.abc import Iterable

from starlette.types import Scope

from api.http.prometheus_text import Family, Histogram, histogram

__all__ = ["RequestCounts"]

_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_V1 = "/v1"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestCounts:
    """Counts of this process. A route is its pattern: job numbers would make one series each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, int], int] = {}
        self._times: dict[tuple[str, str], Histogram] = {}

    def record(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = _route(scope)
        with self._lock:
            self._counts[method, route, status] = self._counts.get((method, route, status), 0) + 1
            self._times.setdefault((method, route), Histogram(_BOUNDS_S)).add(seconds)

    def families(self) -> Iterable[Family]:
        with self._lock:
            yield Family.of(
                "downshift_http_requests_total",
                "counter",
                "Requests answered by this process.",
                [
                    ({"method": method, "route": route, "status": str(status)}, count)
                    for (method, route, status), count in sorted(self._counts.items())
                ],
            )
            yield histogram(
                "downshift_http_request_seconds",
                "Time until an answer began.",
                [({"method": method, "route": route}, times) for (method, route), times in sorted(self._times.items())],
            )


def _route(scope: Scope) -> str:
    """The pattern, such as /v1/jobs/{job_id}; `none` if no route was reached."""
    pattern = getattr(scope.get("route"), "path", None)
    if not isinstance(pattern, str):
        return "none"
    # The path of a nested router's route lacks the outer prefix.
    return f"{_V1}{pattern}" if scope["path"].startswith(f"{_V1}/") and not pattern.startswith(_V1) else pattern
