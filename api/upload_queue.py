"""The line in which archives wait for their check, apart from the threads that answer everybody else."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from services.bounded_process import Processes
from services.errors import Busy

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

    def require_place(self, user_id: int) -> None:
        """Before an archive is taken in: whether there will be a place for it cannot be promised. Raises Busy."""
        with self._lock:
            self._check(user_id)

    async def run(self, user_id: int, work: Callable[[], T]) -> T:
        """What `work` returns, when its turn has come. Raises Busy, and what `work` raises."""
        with self._lock:
            self._check(user_id)
            self._held[user_id] += 1
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: self._release(user_id))  # also where nobody waits for it any more
        return await _awaited(future)

    def close(self) -> None:
        """End the checks that run; those that wait are dropped."""
        self.processes.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, user_id: int) -> None:
        if self._held[user_id] >= MOST_OF_ONE:
            raise Busy(
                f"{MOST_OF_ONE} of your archives are being checked, which is the limit: send more when they are done",
                _RETRY_S,
            )
        if self._held.total() >= MOST:
            raise Busy(f"{MOST} archives are being checked or waiting: try again later", _RETRY_S)

    def _release(self, user_id: int) -> None:
        with self._lock:
            self._held[user_id] -= 1
            self._held += Counter()  # without those who have none


async def _awaited(future: "Future[T]") -> T:
    return await asyncio.wrap_future(future)
