"""Watching a trainer, a part at a time; whole supervisors are in tests/faults."""

import datetime
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from services.attempts import ingest
from tests.support.desk import Desk
from worker.supervisor.watch import Supervision


@pytest.fixture
def trainer() -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    yield process
    process.kill()
    process.wait()


def test_reports_that_cannot_be_read_are_logged_once_until_they_can(
    desk: Desk,
    trainer: "subprocess.Popen[bytes]",
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    folder, now = desk.folder(claim), datetime.datetime.now(datetime.UTC)
    watching = Supervision(desk.settings, claim.job_id, claim.attempt, claim.token, folder, trainer, now, [])

    def fail(*_: Any) -> int:
        raise ValueError("a row of another version")

    def faults(looks: int) -> int:
        for _ in range(looks):
            watching._ingest()
        return len([record for record in caplog.records if record.exc_info])

    with monkeypatch.context() as patched:
        patched.setattr(ingest, "ingest", fail)
        assert faults(3) == 1
    assert faults(1) == 1
    monkeypatch.setattr(ingest, "ingest", fail)
    assert faults(3) == 2
