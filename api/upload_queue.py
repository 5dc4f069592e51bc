"""The line in which archives wait for their check, apart from the threads that answer everybody else."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from services.bounded_process import Processes
from services.errors import Busy, LimitReached
from services.library.uploads import stopping

__all__ = ["UploadQueue"]

T = TypeVar("T")
AT_ONCE = 2
MOST = 16  # that are checked or wait
MOST_OF_ONE = 4
_RETRY_S = 30.0


class UploadQueue:
    def __init__(self) -> None:
        self.processes = Processes()
        self._threads = ThreadPoolExecutor(AT_ONCE, "upload-check")
        self._lock = threading.Lock()
        self._held: Counter[int] = Counter()  # by user
        self._is_closed = False

    def require_place(self, user_id: int) -> None:
        """Raises as `run` would now, before an archive is received. It reserves nothing: `run` may still raise."""
        with self._lock:
            self._check(user_id)

    async def run(self, user_id: int, work: Callable[[], T]) -> T:
        """What `work` returns, when its turn has come. Raises Busy, LimitReached, and what `work` raises."""
        with self._lock:
            self._check(user_id)
            try:
                future = self._threads.submit(work)
            except RuntimeError:  # closed
                raise stopping() from None
            self._held[user_id] += 1
        future.add_done_callback(lambda _: self._release(user_id))  # also where nobody waits for it any more
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not self._is_closed:  # it is the request that was cancelled
                raise
            raise stopping() from None

    def close(self) -> None:
        """End the checks that run; those that wait are dropped."""
        self._is_closed = True
        self.processes.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, user_id: int) -> None:
        if self._held[user_id] >= MOST_OF_ONE:
            limit = f"{MOST_OF_ONE} of your archives are being checked or waiting, which is the limit"
            raise LimitReached(f"{limit}: send more when they are done")
        if self._held.total() >= MOST:
            raise Busy(f"{MOST} archives are being checked or waiting: try again later", _RETRY_S)

    def _release(self, user_id: int) -> None:
        with self._lock:
            self._held[user_id] -= 1
            self._held += Counter()  # without those who have none
