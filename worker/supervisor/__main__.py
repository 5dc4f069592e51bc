"""`python -m worker.supervisor JOB ATTEMPT TOKEN DEVICE`: the parent of one trainer, from its start to its end.

The trainer is started before anything slow is imported: its start is what people wait for.
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
from services.settings import PREFIX, Settings
from worker import notes
from worker.attempt_processes import MARK, mark_of
from worker.process_locks import Lock, die_with_parent, start_time

__all__ = ["main"]

EXIT_LOCKED = 75
_LOCK_PATIENCE_S = 30.0  # what is left of the attempt before may take a moment to be gone
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
    locks = [Lock(job_lock(settings, options.job)), Lock(device_lock(settings, options.device))]
    if not all(lock.take(_LOCK_PATIENCE_S) for lock in locks):
        print(f"job {options.job} or {options.device} is still held by another process; not started", file=sys.stderr)
        return EXIT_LOCKED
    trainer = start_trainer(settings, folder, options.token, [lock.descriptor for lock in locks])
    started = datetime.datetime.now(datetime.UTC)
    notes.Running(os.getpid(), start_time(os.getpid()), trainer.pid, start_time(trainer.pid)).note(folder)
    from worker.supervisor.watch import Supervision

    return Supervision(settings, options.job, options.attempt, options.token, folder, trainer, started, locks).run()


def start_trainer(settings: Settings, folder: Path, token: str, inherited: list[int]) -> "subprocess.Popen[bytes]":
    """In a session of its own, without our settings: they hold the addresses of database and broker."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= json.loads((folder / notes.ENVIRONMENT_FILE).read_text())
    environment[MARK] = mark_of(token)
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
            # Told to stop, not killed: it may be able to save what it has.
            preexec_fn=lambda: die_with_parent(signal.SIGTERM),
        )


if __name__ == "__main__":
    sys.exit(main())
