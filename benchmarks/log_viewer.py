"""Measure the log viewer's queries on a log of a million lines: `python benchmarks/log_viewer.py [LINES]`.

In one process, without HTTP. "cold" is the first query of a log, which counts its lines.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from services.logs import search
from services.logs.line_index import IndexedLog, LineIndex

TIMES = 5
ALL = 2**40


def write(path: Path, lines: int) -> None:
    with path.open("w") as file:
        for start in range(0, lines, 10_000):
            numbers = range(start + 1, min(lines, start + 10_000) + 1)
            file.write(
                "".join(
                    f"INFO:tensorflow:Step {n} per-step time 0.1{n % 97:02}s loss=1.2{n % 89:02} learning_rate=0.0100 "
                    f"images/s 12.{n % 10} device memory {n * 7 % 10**9}\n"
                    for n in numbers
                )
            )


def took(ask: Callable[[], object]) -> str:
    seconds = []
    for _ in range(TIMES):
        started = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - started)
    return f"{1000 * statistics.median(seconds):7.0f} ms   (slowest {1000 * max(seconds):.0f})"


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.log")
        write(path, lines)
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            print(f"{lines:,} lines, {size / 1e6:.0f} MB; load of the machine {os.getloadavg()[0]:.1f}")
            index = LineIndex()
            print("lines counted, cold        ", took(lambda: LineIndex().total(file, size)))
            index.total(file, size)
            print("lines counted, known       ", took(lambda: index.total(file, size)))
            print("begin of a line            ", took(lambda: index.start_of(file, lines // 2, size)))
            for name, text in (
                ("search: a rare line        ", f"step {lines // 3} per"),
                ("search: on every line      ", "LOSS"),
                ("search: nowhere            ", "no such text"),
                ("search: nowhere, umlaut    ", "nirgends Größe"),
            ):
                print(
                    name,
                    took(lambda text=text: search.search_backward(IndexedLog(file, size, index), text, None, 100, ALL)),
                )


if __name__ == "__main__":
    main()
