"""`python -m worker.trainer ATTEMPT_DIR`: train one attempt; write outcome.json and exit with the reason's status.

The directory must hold attempt.json and pipeline.config. All output goes to its train.log.
"""

import argparse
import contextlib
import os
import sys
import threading
import traceback
from pathlib import Path

from services.domain.contract import (
    EXIT_CODES,
    LOG_FILE,
    OUTCOME_FILE,
    SPEC_FILE,
    AllocatorStats,
    AttemptSpec,
    ContractError,
    EventKind,
    Outcome,
    Phase,
    Reason,
)
from worker.trainer import device, preflight, versions
from worker.trainer.failures import AttemptEnd, Stopped, allocator_stats, log_tail, read_exception
from worker.trainer.progress import Progress
from worker.trainer.report import Reporter, host_peak_bytes
from worker.trainer.stop_signal import StopRequest


class AttemptRun:
    """One run of an attempt: holds what the outcome needs, however the attempt ends."""

    def __init__(self, attempt_dir: Path) -> None:
        self.attempt_dir = attempt_dir
        self.reporter = Reporter(attempt_dir)
        self.progress = Progress()
        self.memory: device.Memory | None = None
        self.attempt: object = None
        self.stop = StopRequest(
            has_unsaved=self.progress.has_unsaved,
            before_exit=lambda message: self.end(Stopped(message)),
        )

    def run(self) -> AttemptEnd:
        try:
            self._train()
            return AttemptEnd(Reason.COMPLETED, self.progress.stopped_early or f"trained to step {self.progress.step}")
        except BaseException as error:
            ending = read_exception(error)
            if ending is not error:
                traceback.print_exc()
            return ending

    def _train(self) -> None:
        self.reporter.phase(Phase.CHECKING)
        spec = self._spec()
        config = preflight.read_config(self.attempt_dir)
        preflight.check(spec, config)
        self.reporter.phase(Phase.IMPORTING)
        device.prepare_environment(spec.device)
        from worker.trainer import compat

        compat.install()
        import tensorflow as tf
        from tensorflow.python.client import device_lib

        name = device.configure(spec.device, tf.config, spec.host)
        from worker.trainer.loop import Attempt

        limit = device.allocator_limit(spec.device, device_lib.list_local_devices)
        self.memory = device.Memory(spec.device, name, tf.config, limit)
        self.reporter.event(EventKind.DEVICE, limit=limit, versions=versions.of(tf))
        # Referenced until the process exits: freeing the input pipeline can take half a minute and serves nobody.
        attempt = self.attempt = Attempt(spec, config, self.reporter, self.memory, self.progress, self.stop)
        attempt.run()

    def _spec(self) -> AttemptSpec:
        try:
            return self._read_spec()
        except (OSError, UnicodeDecodeError) as error:
            raise AttemptEnd(Reason.BAD_SPEC, f"{SPEC_FILE} cannot be read: {error}") from None
        except ContractError as error:
            raise AttemptEnd(Reason.BAD_SPEC, f"{SPEC_FILE}: {error}") from None

    def _read_spec(self) -> AttemptSpec:
        """Ignore unknown fields with a warning: a newer worker may write them, and an upgrade must not fail jobs."""
        unknown: list[str] = []
        spec = AttemptSpec.from_json((self.attempt_dir / SPEC_FILE).read_text(), passed_over=unknown)
        if unknown:
            self.reporter.warning(f"{SPEC_FILE}: unknown fields ignored: {', '.join(unknown)}"[:500])
        return spec

    def end(self, ending: AttemptEnd) -> bool:
        """Write the outcome; returns False if the other thread (main or stop request) already did."""
        return self.reporter.outcome(
            Outcome(
                reason=ending.reason,
                message=ending.message,
                step=self.progress.step,
                runs=self.progress.runs,
                saved_step=self.progress.saved_step,
                walked_bytes=self.progress.walked_bytes,
                allocator=self._allocator(ending),
                host_peak_bytes=host_peak_bytes(),
                metrics=self.progress.metrics,
                export=self.progress.export,
                exported=self.progress.exported,
                stopped_early=bool(self.progress.stopped_early),
                seconds=self.reporter.seconds(),
            )
        )

    def _allocator(self, ending: AttemptEnd) -> AllocatorStats:
        if self.memory is None:
            return AllocatorStats()
        counters = self.memory.counters()
        if ending.reason is Reason.DEVICE_MEMORY:
            return allocator_stats(str(ending.__cause__ or ending), log_tail(self.attempt_dir / LOG_FILE), counters)
        return counters


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m worker.trainer", description=__doc__.splitlines()[0])
    parser.add_argument("attempt_dir", type=Path)
    attempt_dir = parser.parse_args().attempt_dir
    if not attempt_dir.is_dir():
        return _refuse(f"there is no directory {attempt_dir}")
    if (attempt_dir / OUTCOME_FILE).exists():
        return _refuse(f"{attempt_dir} has ended already (it holds {OUTCOME_FILE}); an attempt is never run twice")
    console = _Console()
    _redirect_output(attempt_dir / LOG_FILE)
    run = AttemptRun(attempt_dir)
    run.stop.listen()
    ending = run.run()
    try:
        if not run.end(ending):
            threading.Event().wait()  # the stop request's thread ends the process
    except Exception as error:  # the exit status still gives the reason
        console.say(f"{OUTCOME_FILE} could not be written: {error}")
    console.say(f"{ending.reason}: {ending.message}")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(EXIT_CODES[ending.reason])  # tf.data's threads can delay an ordinary exit by seconds


class _Console:
    """The original standard error. It may be closed by the time there is a message; then the message is dropped."""

    def __init__(self) -> None:
        self._descriptor = None
        with contextlib.suppress(OSError):
            self._descriptor = os.dup(2)

    def say(self, message: str) -> None:
        with contextlib.suppress(OSError):
            if self._descriptor is not None:
                os.write(self._descriptor, f"{message}\n".encode())


def _refuse(message: str) -> int:
    print(f"{Reason.BAD_SPEC}: {message}", file=sys.stderr)
    return EXIT_CODES[Reason.BAD_SPEC]


def _redirect_output(log: Path) -> None:
    """Redirect the file descriptors, not only `sys.stdout`: TensorFlow's C++ code writes to them directly."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
