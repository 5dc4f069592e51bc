"""The queue of uploaded archives to check. It has its own threads, so that checks do not delay other requests."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from services.bounded_process import Processes
from services.errors import Busy, LimitReached
from services.library.uploads import service_stopping

__all__ = ["UploadQueue"]

T = TypeVar("T")
CONCURRENT = 2
MAX_PENDING = 16  # running and waiting checks
MAX_PENDING_PER_USER = 4
_RETRY_S = 30.0


class UploadQueue:
    def __init__(self) -> None:
        self.processes = Processes()
        self._threads = ThreadPoolExecutor(CONCURRENT, "upload-check")
        self._lock = threading.Lock()
        self._pending: Counter[int] = Counter()  # by user
        self._is_closed = False

    def require_capacity(self, user_id: int) -> None:
        """Raise what `run` would raise now, before an archive is received. Reserves nothing: `run` may still raise."""
        with self._lock:
            self._check(user_id)

    async def run(self, user_id: int, work: Callable[[], T]) -> T:
        """Run `work` on a thread when its turn comes. Raises Busy, LimitReached, and what `work` raises."""
        with self._lock:
            self._check(user_id)
            try:
                future = self._threads.submit(work)
            except RuntimeError:  # closed
                raise service_stopping() from None
            self._pending[user_id] += 1
        future.add_done_callback(lambda _: self._release(user_id))  # also if its request was cancelled
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not self._is_closed:  # the request was cancelled, not the check
                raise
            raise service_stopping() from None

    def close(self) -> None:
        """Stop the running checks and drop the waiting ones."""
        self._is_closed = True
        self.processes.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, user_id: int) -> None:
        if self._pending[user_id] >= MAX_PENDING_PER_USER:
            limit = f"{MAX_PENDING_PER_USER} of your archives are being checked or waiting, which is the limit"
            raise LimitReached(f"{limit}: send more when they are done")
        if self._pending.total() >= MAX_PENDING:
            raise Busy(f"{MAX_PENDING} archives are being checked or waiting: try again later", _RETRY_S)

    def _release(self, user_id: int) -> None:
        with self._lock:
            self._pending[user_id] -= 1
            self._pending += Counter()  # drop users at zero
