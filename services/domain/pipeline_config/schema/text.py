"""Parses a pipeline.config with the OD API's schema, and writes it with the owner's comments."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor

from services.domain.pipeline_config.problems import ConfigError, Problem
from services.domain.pipeline_config.schema import messages
from services.domain.pipeline_config.schema.scan import Scan, scan, tokens
from services.domain.suggestions import close_names

Config: TypeAlias = Any  # object_detection.protos.TrainEvalPipelineConfig, built at run time

MAX_CHARACTERS = 256 * 1024  # the longest of the model zoo has 5,000
MAX_DEPTH = 32  # nested blocks; the schema's deepest field is in a dozen
MAX_TOKENS = 20_000  # names, values, brackets, comments; the model zoo's longest config has 450
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
}


def empty() -> Config:
    return messages.message("pipeline_pb2", "TrainEvalPipelineConfig")()


def copied(config: Config) -> Config:
    """A copy to change; the caller's stays as it is."""
    copy = type(config)()
    copy.CopyFrom(config)
    return copy


def parse(text: str) -> Config:
    """The configuration in `text`. Raises ConfigError with line, column and field of the problem."""
    _refuse_what_is_no_text(text)
    _refuse_too_much(text)
    config = empty()
    try:
        text_format.Parse(text, config)
    except text_format.ParseError as error:
        raise ConfigError([_explain(error, text)]) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError([Problem("", f"is not a readable pipeline.config: {error}")]) from None
    if not config.ListFields():
        raise ConfigError([Problem("", "is empty: a pipeline.config needs at least model and train_config")])
    return config


def to_text(config: Config, comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """Equal configurations give the same text.

    A comment stands before its field; where that was removed, before the nearest block around it that remains.
    """
    text: str = text_format.MessageToString(config)
    return _insert(text, comments) if comments else text


def comments(text: str) -> dict[str, list[str]]:
    """Comment lines by the path of the field after them or on their line; "" for those after the last field."""
    return scan(text, empty().DESCRIPTOR).comments


def _insert(text: str, comments: Mapping[str, Sequence[str]]) -> str:
    starts = {mark.path: mark.line for mark in scan(text, empty().DESCRIPTOR).marks if mark.opens}
    lines = text.splitlines()
    before: dict[int, list[str]] = {}
    for path, notes in comments.items():
        before.setdefault(_line_for(path, starts, len(lines) + 1), []).extend(notes)
    written: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        indent = line[: len(line) - len(line.lstrip())]
        written += [indent + note for note in before.get(number, [])]
        written.append(line)
    return "\n".join(written).rstrip("\n") + "\n"


def _line_for(path: str, starts: Mapping[str, int], end: int) -> int:
    if not path:
        return end
    while path and path not in starts:
        path = path.rpartition(".")[0]
    return starts.get(path, 1)


def _refuse_what_is_no_text(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        message = f"is {len(text):,} characters long; a pipeline.config has at most {MAX_CHARACTERS:,}"
        raise ConfigError([Problem("", message)])
    junk = _CONTROL.search(text)
    if junk:
        line = text.count("\n", 0, junk.start()) + 1
        column = junk.start() - text.rfind("\n", 0, junk.start())
        message = "is not text: send the pipeline.config itself, not a checkpoint or a compressed file"
        raise ConfigError([Problem("", message, line, column)])


def _refuse_too_much(text: str) -> None:
    """Call this before parsing: each level of nesting is a call of the parser, each token an object or several.

    It bounds the cost of everything after it.
    """
    depth = 0
    for count, (kind, token, line, column) in enumerate(tokens(text)):
        if count >= MAX_TOKENS:
            message = (
                f"has more than {MAX_TOKENS:,} names, values and brackets; those of the model zoo have some hundred"
            )
            raise ConfigError([Problem("", message, line, column)])
        if kind == "mark":
            depth = max(0, depth + (token in "{<[") - (token in "}>]"))
        if depth > MAX_DEPTH:
            message = f"is nested too deep: a pipeline.config has at most {MAX_DEPTH} blocks in one another"
            raise ConfigError([Problem("", message, line, column)])


def _explain(error: text_format.ParseError, text: str) -> Problem:
    line, column = error.GetLine() or 1, error.GetColumn() or 1
    found = scan(text, empty().DESCRIPTOR)
    back = 1 if "parse string" in str(error) else 0  # the parser is already at the next token
    path = found.path_at(line, column - back)
    reason = re.sub(r"^\d+:\d+ : ", "", str(error))
    return Problem(path, _say(reason, path, found, _word_at(text, line, column)), line, column)


def _say(reason: str, path: str, found: Scan, word: str) -> str:
    """The parser's reason as a message with a remedy."""
    if match := re.search(r'has no field named "([^"]*)"', reason):
        return _unknown_field(match.group(1), path.rpartition(".")[0])
    if "should not have multiple" in reason:
        return "is set twice: keep one of the two"
    if match := re.search(r'specified along with field "([^"]*)"', reason):
        return f"cannot be combined with {match.group(1)}: keep one of the two"
    if reason.endswith('Expected "}".') and found.open_blocks:
        return f"a block is not closed: add the missing }} after {found.open_blocks[-1].path}"
    if reason.endswith('Expected ":".'):
        return f"expected a colon between the field and its value, found {word or 'the end'}"
    if reason.startswith("Extension"):
        return "names in [ ] are not used in a pipeline.config: remove it"
    if "parse string" in reason:
        return "expected text in quotes that is valid UTF-8"
    if "Expected identifier" in reason:
        return f"expected a field name, found {word or 'the end'}" + (": one } too many?" if word == "}" else "")
    field = field_at(path)
    if field is None:
        return f"cannot be read near {word or 'the end'}: {reason.rpartition(': ')[2]}"
    return f"expected {expected(field)}, found {word or 'the end'}"


def _unknown_field(name: str, block: str) -> str:
    message = message_at(block)
    known = [field.name for field in message.fields] if message is not None else []
    close = close_names(name, known, most=3)
    if close:
        return f"no such field; did you mean {' or '.join(close)}?"
    elsewhere = [path for path in _paths(empty().DESCRIPTOR, "", 4) if path.rpartition(".")[2] == name][:2]
    if elsewhere:
        return f"no such field here; it belongs at {' or '.join(elsewhere)}"
    listed = ", ".join(known[:12] + ["…"] * (len(known) > 12))
    return f"no such field; {block or 'a pipeline.config'} has {listed}"


def field_at(path: str) -> FieldDescriptor | None:
    """The descriptor of the field at a dotted path; None for the top level and for unknown fields."""
    block, _, name = re.sub(r"\[\d+\]", "", path).rpartition(".")
    message = message_at(block)
    return message.fields_by_name.get(name) if message is not None else None


def message_at(path: str) -> Any:
    """The descriptor of the message at a dotted path ("": the whole configuration); None where there is none."""
    message: Any = empty().DESCRIPTOR
    for name in filter(None, re.sub(r"\[\d+\]", "", path).split(".")):
        field = message.fields_by_name.get(name) if message is not None else None
        message = field.message_type if field is not None else None
    return message


def expected(field: FieldDescriptor) -> str:
    """What the field takes, for an error message."""
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_MESSAGE:
        return "a block { … }"
    if field.enum_type is not None:
        return f"one of {', '.join(value.name for value in field.enum_type.values)}"
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return "true or false"
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return "text in quotes"
    if kind in _INTEGERS:
        unsigned = kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
        return "a whole number" + (" from 0 to 4294967295" if unsigned else "")
    return "a number"


def _word_at(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    rest = lines[line - 1][column - 1 :] if line <= len(lines) else ""
    match = re.match(r"\s*([\w.+-]+|\S)", rest)
    return match.group(1)[:40] if match else ""


def _paths(message: Any, prefix: str, depth: int) -> Iterator[str]:
    for field in message.fields:
        path = f"{prefix}{field.name}"
        yield path
        if field.message_type is not None and depth > 1:
            yield from _paths(field.message_type, f"{path}.", depth - 1)
