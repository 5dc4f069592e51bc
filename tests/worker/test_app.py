"""An automatic CPU slot has the same size in all processes of the worker."""

import pytest

from tests.support.desk import Desk
from worker.app import Worker
from worker.devices import inventory


def test_other_processes_use_the_slot_size_that_the_main_process_reported(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slot_bytes(worker: Worker, available_mb: int) -> int:
        monkeypatch.setattr(inventory, "available_bytes", lambda *_: available_mb * 2**20)
        return worker._read_devices()[0].total_bytes

    other = Worker(desk.settings, is_main=False)
    before = slot_bytes(other, 2000)  # nothing is reported yet
    main = Worker(desk.settings)
    size = slot_bytes(main, 8000)
    assert size > before
    main._report_devices()
    assert slot_bytes(other, 1000) == size
    assert slot_bytes(main, 1000) == size
    for worker in (other, main):
        worker.store.close()
