"""The process manager: start programs, log their output, restart those that die, stop them in order."""

import contextlib
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from launcher.children import Child, Ended, Program
from launcher.console import Console

__all__ = ["Manager"]

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_WAIT_S = 30.0
_CHECK_EVERY_S = 2.0
_HEALTHY_S = 60.0  # after so long a run, the deaths before no longer count


class Manager:
    """Use it in the main thread and as a context manager: at the end it stops the programs, the last one first.

    Call `poll` in a loop until `stop_requested`, which a signal sets. A second signal while stopping kills at once.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._selector = selectors.DefaultSelector()
        self._managed: list[_Managed] = []
        self._stop_signals = 0
        self._cleanup = contextlib.ExitStack()

    @property
    def stop_requested(self) -> bool:
        return self._stop_signals > 0

    def start(self, program: Program) -> None:
        managed = _Managed(program)
        self._managed.append(managed)
        self._spawn(managed)

    def poll(self, wait_s: float) -> None:
        """Wait for output, a signal or an exit, at most `wait_s` seconds, and handle it."""
        self._listen(wait_s)
        for managed in self._managed:
            if managed.child:
                self._check(managed, managed.child)
            if managed.child and (ended := managed.child.poll()):
                self._forget_child(managed)
                self._plan_restart(managed, ended)
            if not managed.child and self._clock() >= managed.start_at:
                self._spawn(managed)

    def _check(self, managed: "_Managed", child: Child) -> None:
        """Kill a program that runs but has a problem, so that it is restarted. A new one gets time to get healthy."""
        now = self._clock()
        if now - managed.checked_at < _CHECK_EVERY_S:
            return
        managed.checked_at = now
        problem = managed.program.problem()
        if problem is None:
            managed.was_healthy = True
        elif managed.was_healthy:
            managed.was_healthy = False
            self._console.say(f"{managed.program.name}: {problem}; starting it again")
            child.kill()

    def deaths(self, name: str) -> int:
        """How often this program has died in a row. A run of a minute starts the count again."""
        return self._find(name).deaths

    def last_end(self, name: str) -> Ended | None:
        return self._find(name).last_end

    def _find(self, name: str) -> "_Managed":
        return next(managed for managed in self._managed if managed.program.name == name)

    def stop(self) -> None:
        """Stop all programs, the last one started first; returns when all have ended."""
        while self._managed:
            managed = self._managed[-1]
            if managed.child:
                self._stop_child(managed, managed.child)
            self._managed.pop()

    def __enter__(self) -> Self:
        self._cleanup.enter_context(self._signals())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._cleanup:
            self.stop()

    def _spawn(self, managed: "_Managed") -> None:
        managed.child = Child(managed.program)
        managed.started_at = managed.checked_at = self._clock()
        managed.was_healthy = False
        self._selector.register(managed.child.output, selectors.EVENT_READ, managed)

    def _listen(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            if isinstance(key.data, _Managed):
                self._show(key.data)
            else:
                signals = key.fileobj.recv(4096)  # type: ignore[union-attr]  # our own socket
                self._stop_signals += sum(number in _STOP_SIGNALS for number in signals)

    def _show(self, managed: "_Managed") -> None:
        assert managed.child is not None
        lines = managed.child.read_lines()
        if lines is None:
            self._selector.unregister(managed.child.output)
        else:
            self._say_all(managed, lines)

    def _say_all(self, managed: "_Managed", lines: Sequence[str]) -> None:
        for line in lines:
            self._console.say(line, managed.program.name)

    def _forget_child(self, managed: "_Managed") -> None:
        """Log the last lines of a child that has ended."""
        assert managed.child is not None
        with contextlib.suppress(KeyError):
            self._selector.unregister(managed.child.output)
        self._say_all(managed, managed.child.last_lines())
        managed.child = None

    def _plan_restart(self, managed: "_Managed", ended: Ended) -> None:
        now = self._clock()
        managed.last_end = ended
        managed.deaths = 1 if now - managed.started_at >= _HEALTHY_S else managed.deaths + 1
        wait_s = min(_LONGEST_WAIT_S, 2.0 ** (managed.deaths - 1))
        managed.start_at = now + wait_s
        self._console.say(f"{managed.program.name} {ended}; starting it again in {wait_s:g} s")

    def _stop_child(self, managed: "_Managed", child: Child) -> None:
        signals_before, deadline = self._stop_signals, self._clock() + managed.program.grace_s
        child.terminate()
        while child.poll() is None:
            if self._clock() >= deadline or self._stop_signals > signals_before:
                self._console.say(f"{managed.program.name} does not stop: killing it")
                child.kill()
                deadline = float("inf")
                signals_before = self._stop_signals
            self._listen(0.2)
        self._forget_child(managed)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Make signals wake the selector instead of interrupting the code that runs."""
        receiver, sender = socket.socketpair()
        receiver.setblocking(False)
        sender.setblocking(False)
        numbers = (*_STOP_SIGNALS, signal.SIGCHLD)
        former_fd = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        # An ignored SIGHUP stays ignored: that is how nohup works. SIGINT is handled even if it was ignored, because
        # shells ignore it for background jobs.
        former = {
            number: signal.signal(number, _ignore)
            for number in numbers
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
        }
        self._selector.register(receiver, selectors.EVENT_READ)
        try:
            yield
        finally:
            signal.set_wakeup_fd(former_fd)
            for number, handler in former.items():
                signal.signal(number, handler)
            self._selector.close()
            receiver.close()
            sender.close()


class _Managed:
    """A program and its current child process, if there is one."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.child: Child | None = None
        self.deaths = 0
        self.last_end: Ended | None = None
        self.started_at = 0.0
        self.start_at = 0.0
        self.checked_at = 0.0
        self.was_healthy = False  # at any check since its start


def _ignore(number: int, frame: object) -> None:
    """Python writes to the wake-up descriptor only for signals that have a handler."""
