"""Parts of watching a trainer. Tests of whole supervisors are in tests/faults."""

import datetime
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from services.attempts import ingest
from services.attempts.finish import HeldAttempt
from tests.support.desk import Desk
from worker.supervisor.watch import Supervision, Trainer


@pytest.fixture
def trainer() -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    yield process
    process.kill()
    process.wait()


def test_unreadable_reports_are_logged_once_until_they_can_be_read_again(
    desk: Desk,
    trainer: "subprocess.Popen[bytes]",
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    attempt = HeldAttempt(claim.job_id, claim.attempt, claim.token, desk.folder(claim))
    supervision = Supervision(
        desk.settings, attempt, Trainer(trainer, datetime.datetime.now(datetime.UTC), [], "cpu-0")
    )

    def fail(*_: Any) -> int:
        raise ValueError("a row of another version")

    def logged_after(polls: int) -> int:
        for _ in range(polls):
            supervision._ingest()
        return len([record for record in caplog.records if record.exc_info])

    with monkeypatch.context() as patched:
        patched.setattr(ingest, "ingest", fail)
        assert logged_after(3) == 1
    assert logged_after(1) == 1
    monkeypatch.setattr(ingest, "ingest", fail)
    assert logged_after(3) == 2
