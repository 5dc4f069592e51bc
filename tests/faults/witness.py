"""The fake trainer with a witness of its own: kernel locks that nothing else knows of.

One file per job and one per device, locked as long as the process lives. Whoever finds one locked has met a second
trainer of the same job, or on the same device, and writes it down. A death without a word releases them.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.fake_trainer import Fake


class Witness(Fake):
    def run(self) -> None:
        folder = Path(self.behaviour["observer"]).parent
        job, device = Path(self.spec.job_dir).name, self.spec.device.memory_limit_mb
        self.held = [self.hold(folder / f"witness-{name}") for name in (f"job-{job}", f"device-{device}")]
        super().run()

    def hold(self, path: Path) -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with path.with_name("doubles.txt").open("a") as file:
                file.write(f"{path.name} {self.folder} {os.getpid()} {time.time():.3f}\n")
        return descriptor


if __name__ == "__main__":
    Witness(Path(sys.argv[1])).run()
