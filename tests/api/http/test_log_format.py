"""Clients cannot flood the api's log with warnings."""

import io
import logging
import sys

import pytest

from api.http.log_format import DeduplicatingHandler


class Log:
    def __init__(self) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.handler = DeduplicatingHandler(self.stream, clock=lambda: self.now)

    def say(self, text: str, level: int = logging.WARNING) -> None:
        self.handler.handle(logging.LogRecord("uvicorn.error", level, "", 0, text, (), None))

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_a_warning_that_comes_again_and_again_is_counted_instead() -> None:
    log = Log()
    for _ in range(1000):
        log.say("socket.accept() out of system resource\nsocket: <socket>")
    log.now = 61
    log.say("something else")
    assert log.lines.count("socket.accept() out of system resource") == 5
    assert log.lines[-2:] == [
        "socket.accept() out of system resource (995 times more within 60 s)",
        "something else",
    ]


def test_different_warnings_and_the_record_of_requests_are_all_there() -> None:
    log = Log()
    for number in range(50):
        log.say(f"a log-in as 'user{number}' was refused")
        log.say("GET /healthz 200", logging.INFO)
    assert len(log.lines) == 100


def test_held_back_counts_are_written_at_the_end() -> None:
    log = Log()
    for _ in range(7):
        log.say("again")
    log.handler.close()
    assert log.lines[-1] == "again (2 times more within 60 s)"


def test_ever_new_texts_do_not_fill_the_memory() -> None:
    log = Log()
    for number in range(5000):
        log.say(f"text {number}")
    assert len(log.handler._seen) <= 1001


def test_arguments_that_do_not_fit_are_not_the_callers_problem(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.handler.handle(logging.LogRecord("x", logging.WARNING, "", 0, "%d files", ("a",), None))
    assert "Logging error" in capsys.readouterr().err
    log.say("still there")
    assert log.lines == ["still there"]


def test_tracebacks_are_all_there() -> None:
    log = Log()
    for number in range(7):
        try:
            raise ValueError(number)
        except ValueError:
            log.handler.handle(logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info()))
    assert [line for line in log.lines if line.startswith("ValueError")] == [f"ValueError: {n}" for n in range(7)]
