"""Read a label map, which gives each class its id. Uses the Object Detection API's schema, with stricter checks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from services.domain.pipeline_config.schema import messages
from services.domain.pipeline_config.schema.scan import scan
from services.domain.tfrecord import DatasetError

__all__ = ["LabelMap", "of_names", "parse", "read"]

MAX_CHARACTERS = 4 * 2**20
MAX_NAME = 256  # characters; names appear in charts, tables and every evaluation
MAX_ID = 10_000  # a model has an output for every id up to the highest, even for unused ones


@dataclass(frozen=True)
class LabelMap:
    names: Mapping[int, str]  # to show, by id, in the order of ids
    ids: Mapping[str, int]  # by name and by display name, as records may use both
    text: str  # the file's content; equal label maps have equal texts

    @property
    def num_classes(self) -> int:
        return max(self.names)


def read(path: Path) -> LabelMap:
    """Raises DatasetError with the file, the line and the remedy."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DatasetError("dataset_missing", f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _refused(path, None, "is not text; the label map is a .pbtxt file") from None
    return parse(path, text)


def parse(path: Path, text: str) -> LabelMap:
    """The label map in `text`; `path` is only used in messages."""
    if len(text) > MAX_CHARACTERS:
        raise _refused(path, None, f"has {len(text):,} characters, more than {MAX_CHARACTERS:,}; is it the label map?")
    message = messages.message("string_int_label_map_pb2", "StringIntLabelMap")()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        reason = re.sub(r"^\d+:\d+ : ", "", str(error))
        problem = f"is not a label map ({reason}); it holds blocks like item {{ id: 1 name: 'cat' }}"
        raise _refused(path, error.GetLine(), problem) from None
    except (ValueError, RecursionError) as error:
        raise _refused(path, None, f"is not a label map: {error}") from None
    lines = {mark.path: mark.line for mark in scan(text, message.DESCRIPTOR).marks if mark.opens}
    return _checked(path, message, lines)


def of_names(path: Path, names: Sequence[str]) -> LabelMap:
    """The label map with these classes, numbered from 1. `path`: the file that names them, for messages."""
    message = messages.message("string_int_label_map_pb2", "StringIntLabelMap")()
    for number, name in enumerate(names, start=1):
        message.item.add(id=number, name=name)
    return _checked(path, message, {})


def _checked(path: Path, message: Any, lines: Mapping[str, int]) -> LabelMap:
    names: dict[int, str] = {}
    ids: dict[str, int] = {}
    for number, item in enumerate(message.item):
        block = f"item[{number}]"

        def refused(field: str, problem: str, block: str = block) -> DatasetError:
            line = lines.get(f"{block}.{field}") or lines.get(block)
            return _refused(path, line, problem)

        called = {field: getattr(item, field) for field in ("name", "display_name") if getattr(item, field)}
        if not called:
            raise refused("name", "the item has no name; add name: '…', as the records call the class")
        for field, name in called.items():
            if len(name) > MAX_NAME:
                raise refused(field, f"the name has {len(name):,} characters: shorten it to {MAX_NAME}")
        shown = called.get("display_name") or called["name"]
        if not item.HasField("id"):
            raise refused("id", f"{shown!r} has no id; number the classes from 1")
        if not 1 <= item.id <= MAX_ID:
            advice = "0 is the background, which has no item" if item.id == 0 else f"at most {MAX_ID}"
            raise refused("id", f"{shown!r} has id {item.id}; number the classes from 1, {advice}")
        if item.id in names:
            raise refused("id", f"{shown!r} has id {item.id}, which {names[item.id]!r} has already; give each its own")
        for field, name in called.items():
            if ids.setdefault(name, item.id) != item.id:
                raise refused(field, f"{name!r} is the name of id {ids[name]} already; give each class its own")
        names[item.id] = shown
    if not names:
        raise _refused(path, None, "names no class; write an item { id: … name: '…' } for each")
    text: str = text_format.MessageToString(message, as_utf8=True)
    return LabelMap(dict(sorted(names.items())), ids, text)


def _refused(path: Path, line: int | None, problem: str) -> DatasetError:
    where = f"{path}: line {line}" if line else f"{path}"
    return DatasetError("dataset_refused", f"{where}: {problem}")
