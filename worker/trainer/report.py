"""Write the trainer's reports: `events.jsonl` while it runs, `outcome.json` once at the end."""

import contextlib
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from services.domain.contract import (
    EVALUATIONS_DIR,
    EVENTS_FILE,
    LONGEST_METRIC_NAME,
    OUTCOME_FILE,
    SAMPLES_DIR,
    EventKind,
    Outcome,
    Phase,
    bounded_metrics,
)
from services.durable_file import write_durably


class Reporter:
    """Writes into one attempt directory. Each event is a whole line in one `write`, so readers never see half of it."""

    def __init__(self, attempt_dir: Path) -> None:
        self.attempt_dir = attempt_dir
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._ended = False
        self._events = os.open(attempt_dir / EVENTS_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def event(self, kind: EventKind, **fields: Any) -> None:
        line = json.dumps({"kind": kind, "time": round(time.time(), 3), **fields}, allow_nan=False)
        with self._lock:
            os.write(self._events, line.encode() + b"\n")

    def phase(self, phase: Phase, **fields: Any) -> None:
        self.event(EventKind.PHASE, phase=phase, **fields)

    def warning(self, message: str) -> None:
        self.event(EventKind.WARNING, message=message)

    @staticmethod
    def say(text: str) -> None:
        """Print a line for people who read `train.log`, where standard output goes."""
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", flush=True)

    def seconds(self) -> float:
        return round(time.monotonic() - self._started, 3)

    def sample_path(self, name: str) -> Path:
        folder = self.attempt_dir / SAMPLES_DIR
        folder.mkdir(exist_ok=True)
        return folder / name

    def evaluation(self, step: int, metrics: dict[str, float], **fields: Any) -> dict[str, float]:
        """Report an evaluation; returns the metrics that the event holds.

        If there are too many for an event, or a name is too long for a series, a file holds all of them.
        """
        kept = bounded_metrics(metrics)
        if len(kept) < len(metrics) or any(len(name) > LONGEST_METRIC_NAME for name in kept):
            path = self.attempt_dir / EVALUATIONS_DIR / f"step-{step:07d}.json"
            path.parent.mkdir(exist_ok=True)
            write_durably(path, json.dumps({"step": step, "metrics": metrics}))
            fields["file"] = str(path.relative_to(self.attempt_dir))
        self.event(EventKind.EVAL, step=step, metrics=kept, **fields)
        return kept

    def outcome(self, outcome: Outcome) -> bool:
        """Write the outcome durably and atomically. Only the first call writes; returns whether it was this one."""
        with self._lock:
            if self._ended:
                return False
            self._ended = True
        with contextlib.suppress(OSError):  # a full disk must not prevent the attempt to write the outcome
            self.event(EventKind.OUTCOME, reason=outcome.reason, message=outcome.message, step=outcome.step)
            os.fsync(self._events)
        write_durably(self.attempt_dir / OUTCOME_FILE, outcome.to_json())
        return True


def host_memory() -> dict[str, int]:
    """This process's resident bytes, current and peak."""
    with open("/proc/self/status") as status:
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith(("VmRSS", "VmHWM"))}
    return {"current": kilobytes["VmRSS"] * 1024, "peak": kilobytes["VmHWM"] * 1024}


def host_peak_bytes() -> int:
    return host_memory()["peak"]  # getrusage would include the parent's peak from before exec
