"""One log for several processes."""

import io

import pytest

from launcher.console import Console, LineBuffer, plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_names_are_in_a_column_of_their_own() -> None:
    stream = io.StringIO()
    console = Console(stream)

    console.say("listening", "api")
    console.say("stopping")

    assert stream.getvalue() == "api       | listening\ndownshift | stopping\n"


def test_each_line_of_a_text_has_its_name() -> None:
    stream = io.StringIO()
    Console(stream).say("Traceback:\n\n  line 1", "worker")

    assert stream.getvalue() == "worker    | Traceback:\nworker    |\nworker    |   line 1\n"


def test_only_a_terminal_gets_colours() -> None:
    terminal = Terminal()
    Console(terminal).say("listening", "api")

    assert terminal.getvalue() == "\x1b[36mapi       |\x1b[0m listening\n"


def test_a_log_that_nobody_reads_any_more_is_no_error() -> None:
    Console(Closed()).say("listening")


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"ha", b"lf\n"], ["half"]),
        ([b"windows\r\n"], ["windows"]),
        ([b"\n"], [""]),
        ([b"caf\xc3", b"\xa9\n"], ["café"]),
        ([b"\xff\n"], ["\N{REPLACEMENT CHARACTER}"]),
        ([b"unfinished"], []),
    ],
)
def test_bytes_become_whole_lines(parts: list[bytes], lines: list[str]) -> None:
    buffer = LineBuffer()

    assert [line for part in parts for line in buffer.feed(part)] == lines


def test_the_rest_is_kept_for_the_end() -> None:
    buffer = LineBuffer()
    buffer.feed(b"one\ntw")

    assert buffer.flush() == ["tw"]
    assert buffer.flush() == []


def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    buffer = LineBuffer()

    assert buffer.feed(b"x" * 100_000) == ["x" * 100_000]


def test_what_users_sent_cannot_drive_the_terminal() -> None:
    assert plain("name\x1b[2J\a\ttab ü") == "name\\x1b[2J\\x07\ttab ü"
