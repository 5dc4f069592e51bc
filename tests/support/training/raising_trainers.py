"""Run real trainer processes whose training raises an exception of TensorFlow's own: `raising_trainers.py CASES`.

CASES is a JSON file: a list of {"attempt_dir", "error" (a class of tf.errors), "text", "log"}. Importing TensorFlow
takes most of a trainer's start, so it is imported once and each trainer is a fork of this process. Prints the exit
statuses.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from services.domain.contract import Device  # noqa: E402
from worker.trainer import __main__ as trainer  # noqa: E402
from worker.trainer import compat, device  # noqa: E402


def main() -> list[int]:
    device.prepare_environment(Device(memory_limit_mb=1000))
    compat.install()
    import tensorflow as tf

    from worker.trainer import loop

    def train(case: dict[str, Any]) -> int:
        def run(_: Any) -> None:
            print(case["log"], file=sys.stderr, flush=True)
            raise getattr(tf.errors, case["error"])(None, None, case["text"])

        loop.Attempt.run = run  # type: ignore[assignment,method-assign]
        sys.argv = ["trainer", case["attempt_dir"]]
        return trainer.main()

    statuses = []
    for case in json.loads(Path(sys.argv[1]).read_text()):
        child = os.fork()
        if child == 0:
            os._exit(train(case))
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(json.dumps(statuses))
    return statuses


if __name__ == "__main__":
    main()
