"""A stand-in for `python -m worker.trainer.gpu.qualify`. It finds its GPU in CUDA_VISIBLE_DEVICES, as that does.

FAKE_QUALIFIER names a JSON file: {UUID: {"found": {…}, "log": "…", "exit": 0, "hang": false, "waits_for": PATH}}. An
exit of -11 is SIGSEGV. A GPU that it does not name is good.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

GOOD: dict[str, Any] = {
    "stage": "computing in bfloat16",
    "tensorflow": "2.20.0",
    "cuda": "12.9.79",
    "cudnn": "9.10.2.21",
    "architectures": ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"],
    "gpus": 1,
    "capability": [8, 6],
    "limit_bytes": 6_000_000_000,
    "precisions": {"float32": "ok", "float16": "ok", "bfloat16": "ok"},
}


def main() -> int:
    file = os.environ.get("FAKE_QUALIFIER")
    known = json.loads(Path(file).read_text()) if file and Path(file).exists() else {}
    behaviour = known.get(os.environ["CUDA_VISIBLE_DEVICES"], {})
    worker = os.getppid()
    while behaviour.get("hang") or (behaviour.get("waits_for") and not Path(behaviour["waits_for"]).exists()):
        if os.getppid() != worker:  # it ends with its worker, as the real one does
            return 1
        time.sleep(0.05)
    print(behaviour.get("log", ""), flush=True)
    Path(sys.argv[1]).write_text(json.dumps(behaviour.get("found", GOOD)))
    status = int(behaviour.get("exit", 0))
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
