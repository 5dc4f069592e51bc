"""The process manager with small real processes: its log, restarts, the order of stopping, and what survives it."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launcher.children import Child, Program
from launcher.console import Console
from launcher.manager import Manager

ROOT = Path(__file__).parents[2]
STAYS = "import signal, sys; print('up', flush=True); signal.pause()"


def python(name: str, code: str, **options: object) -> Program:
    return Program(name, [sys.executable, "-c", textwrap.dedent(code)], **options)  # type: ignore[arg-type]


class Log(io.StringIO):
    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def manager(log: Log) -> Iterator[Manager]:
    with Manager(Console(log)) as manager:
        yield manager


def poll_until(manager: Manager, happened: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "did not happen"
        manager.poll(0.05)


def is_alive(pid: int) -> bool:
    """False for a zombie too: it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(happened: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "did not happen"
        time.sleep(0.02)


def test_every_line_is_logged_complete_after_the_name_of_its_program(manager: Manager, log: Log) -> None:
    manager.start(python("api", "print('one\\n  two'); import os; os.write(2, b'half '); os.write(2, b'done')"))

    poll_until(manager, lambda: manager.deaths("api") > 0)

    assert log.lines[:3] == ["api       | one", "api       |   two", "api       | half done"]


def test_an_incomplete_line_is_logged_once_it_is_complete(manager: Manager, log: Log) -> None:
    manager.start(python("api", f"print('half', end='', flush=True); {STAYS}"))
    manager.start(python("worker", STAYS))

    poll_until(manager, lambda: "worker    | up" in log.lines and "api       | halfup" in log.lines)


def test_a_program_that_dies_is_restarted_after_a_growing_wait(log: Log) -> None:
    clock = [0.0]
    with Manager(Console(log), clock=lambda: clock[0]) as manager:
        manager.start(python("worker", "import sys; sys.exit(3)"))
        for deaths in (1, 2, 3):
            poll_until(manager, lambda n=deaths: manager.deaths("worker") == n)  # type: ignore[misc]
            clock[0] += 2.0 ** (deaths - 1)

    ends = [line for line in log.lines if "exited" in line]
    assert ends == [f"downshift | worker exited with status 3; starting it again in {wait} s" for wait in (1, 2, 4)]


def test_after_a_long_life_the_wait_before_a_restart_is_short_again(log: Log) -> None:
    clock = [0.0]
    with Manager(Console(log), clock=lambda: clock[0]) as manager:
        manager.start(python("worker", "import os, signal; print(os.getpid()); signal.pause()"))
        for start, lived_s in ((1, 1.0), (2, 1.0), (3, 100.0)):
            poll_until(manager, lambda n=start: log.getvalue().count("worker    |") == n)  # type: ignore[misc]
            clock[0] += lived_s
            os.kill(int([line for line in log.lines if line.startswith("worker")][-1].split()[2]), signal.SIGKILL)
            poll_until(manager, lambda n=start: log.getvalue().count("starting it again") == n)  # type: ignore[misc]
            clock[0] += 10.0

    waits = [line.rpartition(" in ")[2] for line in log.lines if "starting it again" in line]
    assert waits == ["1 s", "2 s", "1 s"]


def test_the_log_names_the_signal_that_killed_a_program(manager: Manager, log: Log) -> None:
    manager.start(python("redis", "import os; os.kill(os.getpid(), 9)"))

    poll_until(manager, lambda: manager.deaths("redis") == 1)

    assert "downshift | redis was killed by SIGKILL; starting it again in 1 s" in log.lines


def test_the_log_names_a_program_that_does_not_exist(manager: Manager, log: Log) -> None:
    manager.start(Program("redis", ["/nowhere/redis-server"]))

    poll_until(manager, lambda: manager.deaths("redis") == 1)

    assert log.lines[0] == "redis     | /nowhere/redis-server: No such file or directory"


def test_programs_are_stopped_in_reverse_order(log: Log) -> None:
    code = """
        import signal, sys
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(print("bye")))
        print("up")
        signal.pause()
    """
    with Manager(Console(log)) as manager:
        for name in ("redis", "worker", "api"):
            manager.start(python(name, code))
        poll_until(manager, lambda: log.getvalue().count("up") == 3)

    assert [line.split()[0] for line in log.lines if "bye" in line] == ["api", "worker", "redis"]


def test_a_program_that_ignores_sigterm_is_killed_after_its_grace_period(log: Log) -> None:
    ignores_sigterm = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{STAYS}"
    with Manager(Console(log)) as manager:
        manager.start(python("api", ignores_sigterm, grace_s=0.2))
        poll_until(manager, lambda: "api       | up" in log.lines)

    assert log.lines[-1] == "downshift | api does not stop: killing it"


def test_a_signal_requests_a_stop_and_a_second_one_kills_at_once(log: Log) -> None:
    ignores_sigterm = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{STAYS}"
    with Manager(Console(log)) as manager:
        manager.start(python("api", ignores_sigterm, grace_s=60))
        poll_until(manager, lambda: "api       | up" in log.lines)
        assert not manager.stop_requested

        os.kill(os.getpid(), signal.SIGINT)
        poll_until(manager, lambda: manager.stop_requested)
        os.kill(os.getpid(), signal.SIGINT)
        started = time.monotonic()

    assert time.monotonic() - started < 10
    assert log.lines[-1] == "downshift | api does not stop: killing it"


def test_a_closed_terminal_requests_a_stop_unless_nohup_is_used(log: Log) -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may have been started with nohup
    try:
        with Manager(Console(log)) as manager:
            os.kill(os.getpid(), signal.SIGHUP)
            poll_until(manager, lambda: manager.stop_requested)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with Manager(Console(log)) as manager:
            os.kill(os.getpid(), signal.SIGHUP)
            manager.poll(0.2)
            assert not manager.stop_requested
    finally:
        signal.signal(signal.SIGHUP, former)


def test_when_a_program_ends_its_process_group_is_killed_and_other_groups_go_on(manager: Manager, log: Log) -> None:
    manager.start(
        python(
            "worker",
            """
            import subprocess, sys
            sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
            pool = subprocess.Popen(sleep)
            training = subprocess.Popen(sleep, start_new_session=True)
            print(pool.pid, training.pid)
            """,
        )
    )
    poll_until(manager, lambda: manager.deaths("worker") == 1)
    pool, training = map(int, log.lines[0].split()[2:])

    try:
        wait_until(lambda: not is_alive(pool))
        assert is_alive(training)
    finally:
        os.kill(training, signal.SIGKILL)


def test_when_the_manager_is_killed_its_programs_die_and_training_goes_on(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import sys
        from launcher.children import Program
        from launcher.console import Console
        from launcher.manager import Manager

        child = '''
        import subprocess, sys
        training = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print("pids", __import__("os").getpid(), training.pid)
        training.wait()
        '''.replace("\\n        ", "\\n")
        with Manager(Console()) as manager:
            manager.start(Program("worker", [sys.executable, "-c", child]))
            while True:
                manager.poll(1)
        """
    )
    launcher = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert launcher.stdout is not None
    child, training = map(int, launcher.stdout.readline().split()[3:])
    try:
        assert is_alive(child)
        launcher.kill()
        launcher.wait()
        wait_until(lambda: not is_alive(child))
        assert is_alive(training)
    finally:
        launcher.stdout.close()
        os.kill(training, signal.SIGKILL)


def test_a_child_whose_parent_has_already_died_does_not_start() -> None:
    program = ROOT / "launcher" / "die_with_parent.py"
    unused_pid = "999999999"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", program, unused_pid, "15", "echo", "started"], capture_output=True
    )

    assert (ended.returncode, ended.stdout) == (1, b"")


def test_a_child_gets_the_environment_of_its_program() -> None:
    child = Child(python("api", "import os; print(os.environ['DOWNSHIFT_HOME'])", environment={"DOWNSHIFT_HOME": "/x"}))
    wait_until(lambda: child.poll() is not None)

    assert child.last_lines() == ["/x"]
