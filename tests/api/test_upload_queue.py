"""Checks of archives have their own queue, and one user cannot fill it."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from api.upload_queue import CONCURRENT, MAX_PENDING, MAX_PENDING_PER_USER, UploadQueue
from services.errors import Busy, LimitReached


@pytest.fixture
def queue() -> Iterator[UploadQueue]:
    queue = UploadQueue()
    yield queue
    queue.close()


def test_few_are_checked_at_once_the_others_wait_and_too_many_are_refused(queue: UploadQueue) -> None:
    go, lock, running, most_running = threading.Event(), threading.Lock(), 0, 0

    def work() -> str:
        nonlocal running, most_running
        with lock:
            running += 1
            most_running = max(most_running, running)
        go.wait(60)
        with lock:
            running -= 1
        return threading.current_thread().name

    async def scene() -> list[str]:
        tasks = [asyncio.create_task(queue.run(number, work)) for number in range(MAX_PENDING)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await queue.run(MAX_PENDING, work)
        with pytest.raises(Busy):
            queue.require_capacity(MAX_PENDING)
        await asyncio.to_thread(lambda: "others are answered meanwhile")
        go.set()
        return await asyncio.gather(*tasks)

    threads = asyncio.run(scene())
    assert most_running == CONCURRENT
    assert all(name.startswith("upload-check") for name in threads)
    queue.require_capacity(MAX_PENDING)


def test_one_user_does_not_take_the_places_of_all(queue: UploadQueue) -> None:
    go = threading.Event()

    async def scene() -> None:
        tasks = [asyncio.create_task(queue.run(1, lambda: go.wait(60))) for _ in range(MAX_PENDING_PER_USER)]
        await asyncio.sleep(0)
        with pytest.raises(LimitReached, match="of your archives"):
            queue.require_capacity(1)
        queue.require_capacity(2)
        go.set()
        await asyncio.gather(*tasks)

    asyncio.run(scene())
    queue.require_capacity(1)


def test_a_place_is_free_again_after_work_that_failed(queue: UploadQueue) -> None:
    async def scene() -> None:
        for _ in range(MAX_PENDING + 1):
            with pytest.raises(ZeroDivisionError):
                await queue.run(1, lambda: 1 // 0)

    asyncio.run(scene())


def test_waiting_uploads_are_refused_when_the_service_stops(queue: UploadQueue) -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(60)

    async def scene() -> None:
        running = [asyncio.create_task(queue.run(1, work)) for _ in range(CONCURRENT)]
        waiting = asyncio.create_task(queue.run(2, work))
        await asyncio.to_thread(begun.wait, 60)
        queue.close()
        for late in (waiting, asyncio.create_task(queue.run(3, work))):
            with pytest.raises(Busy, match="being stopped"):
                await late
        go.set()
        await asyncio.gather(*running)

    asyncio.run(scene())


def test_a_request_that_is_cancelled_stays_cancelled(queue: UploadQueue) -> None:
    go = threading.Event()

    async def scene() -> None:
        task = asyncio.create_task(queue.run(1, lambda: go.wait(60)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()

    asyncio.run(scene())
