"""The common log of several processes."""

import io

import pytest

from launcher.console import Console, LineBuffer, plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_names_form_a_column() -> None:
    stream = io.StringIO()
    console = Console(stream)

    console.say("listening", "api")
    console.say("stopping")

    assert stream.getvalue() == "api       | listening\ndownshift | stopping\n"


def test_every_line_of_a_text_gets_the_name() -> None:
    stream = io.StringIO()
    Console(stream).say("Traceback:\n\n  line 1", "worker")

    assert stream.getvalue() == "worker    | Traceback:\nworker    |\nworker    |   line 1\n"


def test_only_a_terminal_gets_colours() -> None:
    terminal = Terminal()
    Console(terminal).say("listening", "api")

    assert terminal.getvalue() == "\x1b[36mapi       |\x1b[0m listening\n"


def test_a_closed_log_is_no_error() -> None:
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
def test_bytes_are_split_into_complete_lines(parts: list[bytes], lines: list[str]) -> None:
    buffer = LineBuffer()

    assert [line for part in parts for line in buffer.feed(part)] == lines


def test_the_incomplete_last_line_is_returned_at_the_end() -> None:
    buffer = LineBuffer()
    buffer.feed(b"one\ntw")

    assert buffer.flush() == ["tw"]
    assert buffer.flush() == []


def test_a_line_that_grows_too_long_is_cut() -> None:
    buffer = LineBuffer()

    assert buffer.feed(b"x" * 100_000) == ["x" * 100_000]


def test_control_characters_of_user_input_are_escaped() -> None:
    assert plain("name\x1b[2J\a\ttab ü") == "name\\x1b[2J\\x07\ttab ü"
