"""Save checkpoints as fast as possible, get killed at a random moment, resume; repeat.

    python saves_until_killed.py FOLDER ROUNDS SEED

Each round is a child process, forked after the imports and before any operation. It resumes, prints the step, then
prints each step it has saved, until it is killed without warning, but not before its second save.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from worker.trainer import compat

compat.install()

from services.domain.contract import Resume  # noqa: E402
from tests.support.training import tiny_detector  # noqa: E402
from worker.trainer.checkpoints import Checkpoints  # noqa: E402
from worker.trainer.report import Reporter  # noqa: E402
from worker.trainer.step import TrainStep  # noqa: E402


def save_for_ever(folder: Path, pipe: int) -> None:
    step = TrainStep(tiny_detector.config(), tiny_detector.TinyDetector(ballast=4_000_000), accumulation=1)
    iterator = tiny_detector.batches([1.0, 2.0], 2)
    step.trace(iterator)
    checkpoints = Checkpoints(folder / "checkpoints", step, keep=2, reporter=Reporter(folder))
    os.write(pipe, f"{checkpoints.resume(Resume.AUTO) or 0}\n".encode())
    while True:
        step(iterator)
        os.write(pipe, f"{checkpoints.save()}\n".encode())


def one_round(folder: Path, delay: float) -> list[int]:
    """Run one child and kill it; returns the steps that it printed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            save_for_ever(folder, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = [int(pipe.readline() or -1) for _ in ("resumed", "saved", "saved")]
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        said += [int(line) for line in pipe]
    os.waitpid(child, 0)
    return said


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    print(json.dumps([one_round(folder, chance.uniform(0.2, 0.6)) for _ in range(rounds)]))


main()
