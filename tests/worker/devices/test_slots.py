"""An automatic CPU slot has one size, whichever process of the worker asks."""

import pytest

from tests.support.desk import Desk
from worker.app import Worker
from worker.devices import inventory


def test_the_processes_beside_the_main_one_take_the_slot_as_it_was_reported(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slot_bytes(worker: Worker, available_mb: int) -> int:
        monkeypatch.setattr(inventory, "available_bytes", lambda *_: available_mb * 2**20)
        return worker._read()[0].total_bytes

    beside = Worker(desk.settings, is_main=False)
    before = slot_bytes(beside, 2000)  # nothing is reported yet
    main = Worker(desk.settings)
    size = slot_bytes(main, 8000)
    assert size > before
    main._report_devices()
    assert slot_bytes(beside, 1000) == size
    assert slot_bytes(main, 1000) == size
    for worker in (beside, main):
        worker.store.close()
