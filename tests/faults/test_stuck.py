"""A trainer that survives SIGKILL. The kernel's freezer holds it in state D, as a failing driver would."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.jobs.states import State
from services.store.models import Device
from tests.faults.fault_box import FaultBox, MakeBox
from tests.support.box import FAKE_TRAINER
from worker.process_locks import is_doomed

FREEZER = Path("/sys/fs/cgroup/freezer")
pytestmark = pytest.mark.skipif(
    not (FREEZER / "cgroup.procs").exists() or not os.access(FREEZER, os.W_OK),
    reason="needs root and version 1 of the kernel's freezer",
)


class Freezer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def hold(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))
        (self.folder / "freezer.state").write_text("FROZEN")

    def release(self) -> None:
        (self.folder / "freezer.state").write_text("THAWED")


@pytest.fixture
def freezer() -> Iterator[Freezer]:
    folder = FREEZER / f"downshift-test-{os.getpid()}"
    folder.mkdir()
    made = Freezer(folder)
    yield made
    made.release()
    with contextlib.suppress(OSError):  # a process may need a moment to end
        folder.rmdir()


def problem(box: FaultBox, key: str) -> str | None:
    with box.store.reading() as session:
        return session.get_one(Device, f"box/{key}").problem


def start(make_box: MakeBox, freezer: Freezer) -> tuple[FaultBox, int, int]:
    """Start a job whose trainer hangs and is then held in the kernel; returns the job and the trainer's pid."""
    box = make_box(devices="cpu:1000,cpu:1001", trainer=FAKE_TRAINER, hang_s=2.0, unkillable_s=1.0)
    box.behave(die="hang", die_at_step=1)
    job_id = box.submit()
    box.work()
    running = box.running(job_id)
    box.until_step(job_id, 1)
    box.behave()
    freezer.hold(running.trainer)
    return box, job_id, running.trainer


@pytest.mark.parametrize("supervised", [True, False], ids=["supervisor", "reaper"])
def test_its_job_runs_elsewhere_and_its_device_is_locked_until_it_is_gone(
    make_box: MakeBox, freezer: Freezer, supervised: bool
) -> None:
    box, job_id, trainer = start(make_box, freezer)
    if not supervised:
        os.kill(box.running(job_id).supervisor, 9)
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 2)
    assert is_doomed(trainer), "it was still there when the job had finished"
    assert [attempt.device_id for attempt in box.attempts(job_id)] == ["box/cpu-0", "box/cpu-1"]
    said = problem(box, "cpu-0") or ""
    assert f"process {trainer} of an earlier job does not end (state D, waiting in the kernel)" in said
    freezer.release()
    box.until("the end of the problem", lambda: problem(box, "cpu-0") is None)
    box.behave()
    [after] = box.until_final(box.submit())
    assert box.attempts(after.id)[0].device_id == "box/cpu-0"
