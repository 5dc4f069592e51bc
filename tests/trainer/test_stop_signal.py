"""Signals to a separate process whose main thread is inside a C call, as during TensorFlow's calls."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

# The main thread stays inside C calls of sleep, so Python never gets to run a signal handler.
PROGRAM = """
import ctypes, sys
from worker.trainer.stop_signal import StopRequest
unsaved, first = sys.argv[1] == "unsaved", sys.argv[2] == "first"
def before_exit(message):
    print(message, flush=True)
    if sys.argv[2] == "raises":
        raise OSError(28, "No space left on device")
    return first
stop = StopRequest(has_unsaved=lambda: unsaved, before_exit=before_exit)
stop.listen()
print("ready", flush=True)
libc = ctypes.CDLL(None)
libc.sleep(4)
print("asked" if stop.asked else "not asked", flush=True)
"""


def run(*arguments: str, signals: int, wait: float = 0.3) -> tuple[int, list[str]]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(signals):
        process.send_signal(signal.SIGTERM)
        time.sleep(wait)
    output, _ = process.communicate(timeout=30)
    return process.returncode, output.splitlines()


def test_the_first_signal_lets_the_step_finish() -> None:
    code, lines = run("unsaved", "first", signals=1)

    assert (code, lines) == (0, ["asked"])


def test_the_second_signal_ends_at_once() -> None:
    code, lines = run("unsaved", "first", signals=2)

    assert code == 10
    assert len(lines) == 1
    assert "second SIGTERM" in lines[0]


def test_the_first_signal_ends_at_once_if_there_is_nothing_to_save() -> None:
    code, lines = run("saved", "first", signals=1)

    assert code == 10
    assert lines == ["stopped by SIGTERM: there was nothing to save"]


def test_an_outcome_that_cannot_be_written_does_not_keep_the_process_alive() -> None:
    code, lines = run("saved", "raises", signals=1)

    assert code == 10
    assert "asked" not in lines


@pytest.mark.parametrize("state", ["saved", "unsaved"])
def test_an_attempt_that_has_just_ended_by_itself_keeps_its_exit_status(state: str) -> None:
    code, lines = run(state, "late", signals=2)

    assert code == 0
    assert lines[-1] == "asked"
