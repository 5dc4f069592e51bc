"""A bounded process gets few variables, and dies over its limits and with its parent."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from services.bounded_process import Failed, OverLimit, Processes, ProcessLimits, Stopped

ROOT = Path(__file__).parents[2]
ENOUGH = ProcessLimits(memory_mb=500, seconds=60)


def run(limits: ProcessLimits = ENOUGH, **request: Any) -> Any:
    return Processes().run("tests.support.bounded_work", request, limits)


def wait_for(file: Path) -> int:
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(file.read_text())


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").exists():
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_answers_without_variables_of_database_and_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWNSHIFT_DATABASE_URL", "postgresql://user:secret@host/name")
    answer = run(do="answer")
    assert not [name for name in answer["environment"] if name.startswith("DOWNSHIFT_")]
    assert answer["niceness"] > os.nice(0)


def test_a_process_over_its_memory_limit_is_reported() -> None:
    run(ProcessLimits(memory_mb=500, seconds=60), do="take memory", mb=100)
    with pytest.raises(OverLimit, match="needs more than 500 MB"):
        run(ProcessLimits(memory_mb=500, seconds=60), do="take memory", mb=600)


@pytest.mark.lengthy
def test_a_process_is_killed_after_its_time_limit(tmp_path: Path) -> None:
    with pytest.raises(OverLimit, match="longer than 3 s"):
        run(ProcessLimits(memory_mb=500, seconds=3), do="sleep", pid_file=str(tmp_path / "pid"))
    wait_until_gone(wait_for(tmp_path / "pid"))


def test_the_kernel_kills_a_process_over_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent's timeout is disabled; the limit on processor time remains."""
    waits = subprocess.Popen.communicate
    monkeypatch.setattr(subprocess.Popen, "communicate", lambda process, data, timeout: waits(process, data))
    with pytest.raises(OverLimit, match="longer than 1 s"):
        run(ProcessLimits(memory_mb=500, seconds=1), do="spin")


def test_the_last_output_of_a_failed_process_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Failed):
        run(do="break down")
    assert "it is broken" in caplog.text


def test_close_kills_all_processes_and_none_can_start_afterwards(tmp_path: Path) -> None:
    processes, raised = Processes(), []

    def work() -> None:
        try:
            processes.run("tests.support.bounded_work", {"do": "sleep", "pid_file": str(tmp_path / "pid")}, ENOUGH)
        except Stopped as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    pid = wait_for(tmp_path / "pid")
    processes.close()
    thread.join(60)
    assert raised
    wait_until_gone(pid)
    with pytest.raises(Stopped):
        processes.run("tests.support.bounded_work", {"do": "answer"}, ENOUGH)


def test_a_process_dies_with_its_killed_parent(tmp_path: Path) -> None:
    program = (
        "import sys; from services.bounded_process import ProcessLimits, Processes; "
        "request = {'do': 'sleep', 'pid_file': sys.argv[1]}; "
        "Processes().run('tests.support.bounded_work', request, ProcessLimits(500, 600))"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "pid")], cwd=ROOT)
    try:
        pid = wait_for(tmp_path / "pid")
        parent.send_signal(signal.SIGKILL)
    finally:
        parent.kill()
        parent.wait()
    wait_until_gone(pid)
