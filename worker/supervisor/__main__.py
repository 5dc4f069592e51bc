"""`python -m worker.supervisor JOB ATTEMPT TOKEN DEVICE`: start one trainer and watch it until it ends.

The trainer starts before slow imports, because users wait for its start.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from services.attempt_paths import attempt_dir, device_lock, job_lock
from services.domain.contract import LOG_FILE
from services.settings import Settings
from worker import notes
from worker.attempt_processes import MARK, mark_of
from worker.clean_environment import clean_environment
from worker.process_locks import Lock, die_with_parent, start_time
from worker.stuck_processes import take_job_lock

_EXIT_LOCKED = 75
_LOCK_TIMEOUT_S = 30.0  # the last processes of the previous attempt may take a moment to end
_ROOT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m worker.supervisor")
    parser.add_argument("job", type=int)
    parser.add_argument("attempt", type=int)
    parser.add_argument("token")
    parser.add_argument("device")
    options = parser.parse_args()
    settings = Settings.from_environment()
    folder = attempt_dir(settings, options.job, options.attempt)
    of_job = take_job_lock(settings, job_lock(settings, options.job), options.job, _LOCK_TIMEOUT_S)
    of_device = Lock(device_lock(settings, options.device))
    if of_job is None or not of_device.take(_LOCK_TIMEOUT_S):
        print(f"job {options.job} or {options.device} is still held by another process; not started", file=sys.stderr)
        return _EXIT_LOCKED
    locks = [of_job, of_device]
    process = start_trainer(settings, folder, options.token, [lock.descriptor for lock in locks])
    started_at = datetime.datetime.now(datetime.UTC)
    notes.Running(os.getpid(), start_time(os.getpid()), process.pid, start_time(process.pid)).write(folder)
    # Imported only now: it takes a second or more, in which the trainer starts.
    from services.attempts.finish import HeldAttempt
    from worker.supervisor.watch import Supervision, Trainer

    attempt = HeldAttempt(options.job, options.attempt, options.token, folder)
    return Supervision(settings, attempt, Trainer(process, started_at, locks, options.device)).run()


def start_trainer(settings: Settings, folder: Path, token: str, inherited: list[int]) -> "subprocess.Popen[bytes]":
    """In its own session, without our settings: they contain the passwords of the database and the broker."""
    device = json.loads((folder / notes.ENVIRONMENT_FILE).read_text())
    environment = {**clean_environment(os.environ, device), MARK: mark_of(token)}
    with (folder / LOG_FILE).open("ab") as log:
        return subprocess.Popen(
            [*settings.trainer_command, str(folder)],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=inherited,
            # If the supervisor dies. SIGTERM, not SIGKILL, so that the trainer can save a checkpoint.
            preexec_fn=lambda: die_with_parent(signal.SIGTERM),
        )


if __name__ == "__main__":
    sys.exit(main())
