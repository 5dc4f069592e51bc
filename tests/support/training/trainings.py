"""Run the real trainer in tests: write an attempt directory, start the process, read its results."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import (
    EVENTS_FILE,
    LOG_FILE,
    OUTCOME_FILE,
    AttemptSpec,
    Device,
    Outcome,
)
from services.domain.pipeline_config import build_config
from worker.attempt_dir import with_dataset, write_attempt

ROOT = Path(__file__).parents[3]
TIMEOUT_S = 500


@dataclass(frozen=True)
class Ended:
    """The results of a trainer process."""

    attempt_dir: Path
    exit_code: int
    outcome: Outcome
    events: list[dict[str, Any]]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    @property
    def log(self) -> str:
        return (self.attempt_dir / LOG_FILE).read_text(errors="replace")


def prepare(
    folder: Path,
    model: str,
    dataset: Dataset,
    *,
    size: int = 256,
    batch: int = 2,
    steps: int = 4,
    learning_rate: float | None = None,
    slot_mb: int = 6000,
    change: Callable[[Any], None] = lambda config: None,
    **spec: Any,
) -> Path:
    """Write an attempt directory next to others of the same job. `change` edits the config before it is written."""
    config = build_config(catalogue.get(model), dataset.num_classes, (size, size), batch, steps, learning_rate)
    config = with_dataset(config, dataset)
    change(config)
    settings: dict[str, Any] = {"report_every_s": 0.0, "sample_images": 2, "architecture": model} | spec
    device = Device(memory_limit_mb=slot_mb)
    return write_attempt(folder, AttemptSpec(job_dir=str(folder.parent / "job"), device=device, **settings), config)


def start(attempt_dir: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "worker.trainer", str(attempt_dir)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], attempt_dir: Path) -> Ended:
    try:
        process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    outcome = Outcome.from_json((attempt_dir / OUTCOME_FILE).read_text())
    return Ended(attempt_dir, process.returncode, outcome, read_events(attempt_dir))


def train(attempt_dir: Path) -> Ended:
    return finish(start(attempt_dir), attempt_dir)


def read_events(attempt_dir: Path) -> list[dict[str, Any]]:
    path = attempt_dir / EVENTS_FILE
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_for_step(process: subprocess.Popen[str], attempt_dir: Path, step: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not any(e["kind"] == "step" and e["step"] >= step for e in read_events(attempt_dir)):
        assert process.poll() is None, f"the trainer ended before step {step}: {process.stderr.read()}"  # type: ignore[union-attr]
        assert time.monotonic() < deadline, f"no step {step} after {TIMEOUT_S} s"
        time.sleep(0.1)


def plain_python(code: str, *arguments: str) -> Any:
    """Run `code` in a Python with the installed packages but without this project. Its last output line is JSON."""
    command = [sys.executable, "-I", "-c", code, *arguments]
    run = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])
