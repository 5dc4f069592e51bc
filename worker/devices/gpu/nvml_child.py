"""`python -m worker.devices.gpu.nvml_child [INDEX]`: read the driver in a process of its own.

A call into a failing driver may hang for ever, and no thread can be ended. Each line on the standard input is answered
with one JSON line about all GPUs, or about the one with this NVML number. The process ends with its parent.
"""

import json
import os
import queue
import sys
import threading
from dataclasses import asdict
from typing import Any

from worker.devices.gpu.nvml import Nvml, NvmlUnavailable


def _answer(nvml: Nvml, index: int | None) -> dict[str, Any]:
    try:
        driver, gpus = nvml.read(index)
    except NvmlUnavailable as error:
        return {"problem": str(error)}
    return {"driver": driver, "gpus": [asdict(gpu) for gpu in gpus]}


def _requests() -> "queue.SimpleQueue[bytes]":
    """The lines of the standard input. At its end the process ends, even if the other thread hangs in the driver."""
    found: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def receive() -> None:
        for line in sys.stdin.buffer:
            found.put(line)
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    return found


def main() -> None:
    index = int(sys.argv[1]) if len(sys.argv) > 1 else None
    nvml, requests = Nvml(), _requests()
    while True:
        requests.get()
        sys.stdout.write(json.dumps(_answer(nvml, index), default=list) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
