"""The process manager: starts programs, shows what they print, starts again what dies, stops them in order."""

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

__all__ = ["STOP_SIGNALS", "Manager"]

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_WAIT_S = 30.0
_LOOK_EVERY_S = 2.0
_HEALTHY_S = 60.0  # who lived this long is started again without a wait


class Manager:
    """For the main thread, and as a context: what was started is stopped at its end, the last one first.

    `turn` is to be called again and again; `stop_asked` is true after a signal to stop. A second signal, while
    stopping, kills at once.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._selector = selectors.DefaultSelector()
        self._parts: list[_Part] = []
        self._stops = 0
        self._cleanup = contextlib.ExitStack()

    @property
    def stop_asked(self) -> bool:
        return self._stops > 0

    def start(self, program: Program) -> None:
        part = _Part(program)
        self._parts.append(part)
        self._spawn(part)

    def turn(self, wait_s: float) -> None:
        """Wait for something to happen, at most `wait_s` seconds, and see to it."""
        self._listen(wait_s)
        for part in self._parts:
            if part.child:
                self._look_after(part, part.child)
            if part.child and (ended := part.child.poll()):
                self._bury(part)
                self._plan_restart(part, ended)
            if not part.child and self._clock() >= part.start_at:
                self._spawn(part)

    def _look_after(self, part: "_Part", child: Child) -> None:
        """End what lives and is of no use, so that it is started again. A new one is given time to get ready."""
        now = self._clock()
        if now - part.looked_at < _LOOK_EVERY_S:
            return
        part.looked_at = now
        complaint = part.program.complaint()
        if complaint is None:
            part.was_well = True
        elif part.was_well:
            part.was_well = False
            self._console.say(f"{part.program.name}: {complaint}; starting it again")
            child.kill()

    def deaths(self, name: str) -> int:
        """How often this program has died since it was last healthy."""
        return self._part(name).deaths

    def last_end(self, name: str) -> Ended | None:
        return self._part(name).last_end

    def _part(self, name: str) -> "_Part":
        return next(part for part in self._parts if part.program.name == name)

    def stop(self) -> None:
        """End everything, the last one started first; returns when nothing is left."""
        while self._parts:
            part = self._parts[-1]
            if part.child:
                self._end(part, part.child)
            self._parts.pop()

    def __enter__(self) -> Self:
        self._cleanup.enter_context(self._signals())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._cleanup:
            self.stop()

    def _spawn(self, part: "_Part") -> None:
        part.child = Child(part.program)
        part.started_at = part.looked_at = self._clock()
        part.was_well = False
        self._selector.register(part.child.output, selectors.EVENT_READ, part)

    def _listen(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            if isinstance(key.data, _Part):
                self._show(key.data)
            else:
                signals = key.fileobj.recv(4096)  # type: ignore[union-attr]  # our own socket
                self._stops += sum(number in STOP_SIGNALS for number in signals)

    def _show(self, part: "_Part") -> None:
        assert part.child is not None
        lines = part.child.read_lines()
        if lines is None:
            self._selector.unregister(part.child.output)
        else:
            self._say_all(part, lines)

    def _say_all(self, part: "_Part", lines: Sequence[str]) -> None:
        for line in lines:
            self._console.say(line, part.program.name)

    def _bury(self, part: "_Part") -> None:
        assert part.child is not None
        with contextlib.suppress(KeyError):
            self._selector.unregister(part.child.output)
        self._say_all(part, part.child.last_lines())
        part.child = None

    def _plan_restart(self, part: "_Part", ended: Ended) -> None:
        now = self._clock()
        part.last_end = ended
        part.deaths = 1 if now - part.started_at >= _HEALTHY_S else part.deaths + 1
        wait_s = min(_LONGEST_WAIT_S, 2.0 ** (part.deaths - 1))
        part.start_at = now + wait_s
        self._console.say(f"{part.program.name} {ended}; starting it again in {wait_s:g} s")

    def _end(self, part: "_Part", child: Child) -> None:
        stops, deadline = self._stops, self._clock() + part.program.grace_s
        child.terminate()
        while child.poll() is None:
            if self._clock() >= deadline or self._stops > stops:
                self._console.say(f"{part.program.name} does not stop: killing it")
                child.kill()
                deadline = float("inf")
                stops = self._stops
            self._listen(0.2)
        self._bury(part)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals wake the selector up instead of interrupting whatever is going on."""
        receiver, sender = socket.socketpair()
        receiver.setblocking(False)
        sender.setblocking(False)
        numbers = (*STOP_SIGNALS, signal.SIGCHLD)
        former_fd = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        # nohup's wish is respected: what is ignored stays ignored, but for Ctrl-C, which shells ignore unasked.
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


class _Part:
    """A program and its present child, if any."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.child: Child | None = None
        self.deaths = 0
        self.last_end: Ended | None = None
        self.started_at = 0.0
        self.start_at = 0.0
        self.looked_at = 0.0
        self.was_well = False  # since its start


def _ignore(number: int, frame: object) -> None:
    """A handler has to be there for the wake-up to be written."""
