"""Measure time and memory of the api for hostile input: `python benchmarks/hostile_input.py [PART OF A NAME …]`.

Each case runs in its own process, on input of the largest accepted size. Prints the processor seconds, the peak of
additional memory, and the answer. The exit status is 1 if a case is above the limits of 2 s or 200 MB. The cases are in
benchmarks/hostile/.
"""

import gc
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import hostile
from benchmarks.hostile.registry import CASES, Case

MAX_SECONDS, MAX_MB = 2.0, 200
GIVE_UP_S = 120  # of wall time; then the case has failed


def load_cases() -> None:
    for module in pkgutil.iter_modules(hostile.__path__):
        importlib.import_module(f"{hostile.__name__}.{module.name}")


def measure(case: Case) -> dict[str, Any]:
    """Measure in this process, which should be a new one."""
    trial = case.prepare()
    gc.collect()
    before = _reset_peak()
    started = time.process_time()
    try:
        answer = f"{type(trial.work()).__name__}"
    except Exception as error:  # any exception is the answer
        answer = f"{type(error).__name__}, {len(str(error)):,} characters: {str(error)[:60]!r}"
    seconds = time.process_time() - started
    return {"size": trial.size, "seconds": seconds, "mb": (_peak() - before) / 2**20, "answer": answer}


def _reset_peak() -> int:
    """Reset the peak to the memory in use now, and return that in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    # Not ru_maxrss, which starts with the parent's peak and cannot be reset.
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) * 1024


def measure_apart(case: Case) -> dict[str, Any]:
    """Measure in a child process, so that no case inherits the memory of another."""
    command = [sys.executable, __file__, "--one", case.key]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    try:
        child = subprocess.run(command, capture_output=True, text=True, timeout=GIVE_UP_S, env=environment)
    except subprocess.TimeoutExpired:
        return {"size": 0, "seconds": float("inf"), "mb": float("inf"), "answer": f"none within {GIVE_UP_S} s"}
    if child.returncode:
        words = child.stderr.strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
        return {"size": 0, "seconds": float("inf"), "mb": float("inf"), "answer": f"died: {words[0]}"}
    measured: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return measured


def main(arguments: list[str]) -> int:
    load_cases()
    if arguments[:1] == ["--one"]:
        print(json.dumps(measure(CASES[arguments[1]])))
        return 0
    chosen = [case for case in CASES.values() if not arguments or any(part in case.key for part in arguments)]
    if not chosen:
        print("no case has such a name; there are: " + "; ".join(CASES))
        return 2
    print(f"{'case':<72} {'size':>10} {'seconds':>8} {'MB':>6}  answer")
    over = 0
    for case in chosen:
        found = measure_apart(case)
        is_over = found["seconds"] > MAX_SECONDS or found["mb"] > MAX_MB
        over += is_over
        figures = f"{found['size']:>10,} {found['seconds']:>8.2f} {found['mb']:>6.0f}"
        print(f"{case.key:<72} {figures}  {'OVER: ' if is_over else ''}{found['answer']}", flush=True)
    print(f"{len(chosen)} cases, {over} above {MAX_SECONDS} s or {MAX_MB} MB")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
