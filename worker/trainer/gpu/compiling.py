"""The first execution of a step on a GPU: kernels that the wheel lacks are compiled then, for up to half an hour.

The trainer repeats its phase meanwhile, so that the supervisor does not take the silence for a hang.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from services.domain.contract import Phase
from worker.trainer.report import Reporter

__all__ = ["compiling"]

_EVERY_S = 60.0
_LONGEST_S = 2700.0  # after that, silence is a hang again


@contextmanager
def compiling(
    reporter: Reporter, is_gpu: bool, every_s: float = _EVERY_S, longest_s: float = _LONGEST_S
) -> Iterator[None]:
    """Report the phase `compiling` inside. Not on a CPU, whose kernels are all in the wheel."""
    if not is_gpu:
        yield
        return
    done = threading.Event()

    def repeat() -> None:
        for _ in range(int(longest_s / every_s)):
            if done.wait(every_s):
                return
            reporter.phase(Phase.COMPILING)

    reporter.phase(Phase.COMPILING)
    thread = threading.Thread(target=repeat, name="compiling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
