"""Deferred writes: a thread writes them a moment later, or drops them if the database refuses."""

import logging
import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

__all__ = ["LaterWrites"]

_MOST = 1000
_log = logging.getLogger(__name__)

Write = Callable[[Session], object]


def _started(work: Callable[[], None]) -> threading.Thread | None:
    thread = threading.Thread(target=work, name="later-writes", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # the host allows no more threads; the next `put` tries again
        _log.warning("deferred writes wait: %s", error)
        return None
    return thread


class LaterWrites:
    """Defers small writes of read requests, which would otherwise wait for the write lock. The newest per key wins."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Session]]) -> None:
        self._transaction = transaction
        self._lock = threading.Lock()
        self._writes: dict[Hashable, Write] = {}
        self._thread: threading.Thread | None = None

    def put(self, key: Hashable, write: Write) -> None:
        """Never waits and never raises. Drops the write if too many are waiting."""
        with self._lock:
            if key in self._writes or len(self._writes) < _MOST:
                self._writes[key] = write
            if self._thread is None or not self._thread.is_alive():  # not alive: this process was forked
                self._thread = _started(self._write_all)

    def wait(self, timeout_s: float = 20.0) -> None:
        """Wait until all deferred writes are written or dropped."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    def _write_all(self) -> None:
        while True:
            with self._lock:
                writes, self._writes = list(self._writes.values()), {}
                if not writes:
                    self._thread = None
                    return
            try:
                with self._transaction() as session:
                    for write in writes:
                        write(session)
            except Exception as error:  # any error: these writes are not essential
                expected = isinstance(error, SQLAlchemyError) or getattr(error, "code", "") == "store_unavailable"
                _log.warning("%d deferred writes failed: %s", len(writes), error, exc_info=not expected)
