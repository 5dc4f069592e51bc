"""One launcher per HOME."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from launcher import home_lock


def test_a_second_start_in_the_same_home_is_refused_with_the_pid_and_url_of_the_first(tmp_path: Path) -> None:
    with home_lock.hold(tmp_path) as lock:
        lock.publish("http://127.0.0.1:8080")
        message = f"Downshift is already running in {tmp_path} (pid {os.getpid()}, http://127.0.0.1:8080)"

        with pytest.raises(home_lock.AlreadyRunning, match=re.escape(message)), home_lock.hold(tmp_path):
            pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = f"""
import signal, pathlib
from launcher import home_lock
with home_lock.hold(pathlib.Path({str(tmp_path)!r})) as lock:
    print("held", flush=True)
    signal.pause()
"""
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(home_lock.AlreadyRunning), home_lock.hold(tmp_path):
        pass

    holder.kill()
    holder.wait()
    holder.stdout.close()

    with home_lock.hold(tmp_path):
        pass
