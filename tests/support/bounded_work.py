"""The module that tests/services/test_bounded_process.py runs: `python -m tests.support.bounded_work`."""

import os
import sys
import time
from pathlib import Path

from services import bounded_process


def main() -> None:
    request = bounded_process.begin()
    with bounded_process.memory_bounded():
        if request["do"] == "take memory":
            bytearray(request["mb"] * 2**20)
        elif request["do"] == "sleep":
            Path(request["pid_file"]).write_text(str(os.getpid()))
            time.sleep(600)
        elif request["do"] == "spin":
            while True:
                pass
        elif request["do"] == "break down":
            sys.exit("it is broken")
    bounded_process.answer({"environment": dict(os.environ), "niceness": os.nice(0)})


if __name__ == "__main__":
    main()
