"""A fake trainer that notices a second trainer of the same job or on the same device.

It locks one file per job and one per device while it runs. Nothing else uses these locks, and the kernel releases them
however the process dies. A trainer that finds a file locked writes that into `doubles.txt`.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.training.fake_trainer import Fake


class ExclusiveTrainer(Fake):
    def run(self) -> None:
        folder = Path(self.behaviour["observer"]).parent
        job, device = Path(self.spec.job_dir).name, self.spec.device.memory_limit_mb
        self.locks = [self.lock(folder / f"exclusive-{name}") for name in (f"job-{job}", f"device-{device}")]
        super().run()

    def lock(self, path: Path) -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with path.with_name("doubles.txt").open("a") as file:
                file.write(f"{path.name} {self.folder} {os.getpid()} {time.time():.3f}\n")
        return descriptor


if __name__ == "__main__":
    ExclusiveTrainer(Path(sys.argv[1])).run()
