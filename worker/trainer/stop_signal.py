"""Handle SIGTERM and SIGINT at once, even while the main thread is inside a long TensorFlow call."""

import os
import signal
import threading
from collections.abc import Callable

from services.domain.contract import EXIT_CODES, Reason

SIGNALS = {signal.SIGTERM, signal.SIGINT}


class StopRequest:
    """The first signal sets `asked`. A second one, or the first with nothing to save, ends the process at once.

    Python runs signal handlers only between bytecodes of the main thread, which may spend minutes in one call.
    So the signals are blocked in every thread, and a separate thread waits for them.
    """

    def __init__(self, *, has_unsaved: Callable[[], bool], before_exit: Callable[[str], bool]) -> None:
        self._has_unsaved = has_unsaved
        self._before_exit = before_exit
        self._asked = threading.Event()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def listen(self) -> None:
        """Call from the main thread before any other thread starts: threads inherit the blocked signals."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        threading.Thread(target=self._wait, name="stop-request", daemon=True).start()

    def _wait(self) -> None:
        name = signal.Signals(signal.sigwait(SIGNALS)).name
        self._asked.set()
        if self._has_unsaved():
            name = signal.Signals(signal.sigwait(SIGNALS)).name
            self._end(f"ended at once by a second {name}: steps since the last checkpoint are lost")
        self._end(f"stopped by {name}: there was nothing to save")

    def _end(self, message: str) -> None:
        try:
            first = self._before_exit(message)
        except Exception:  # a failure here must not keep the process alive
            first = True
        if first:  # otherwise the attempt has just ended by itself and reports that
            os._exit(EXIT_CODES[Reason.STOPPED])
