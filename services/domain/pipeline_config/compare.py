"""The differences between two configurations, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from services.domain.pipeline_config.schema.floats import shortest
from services.domain.pipeline_config.schema.text import Config


@dataclass(frozen=True)
class FieldChange:
    """One field. Values as pipeline.config writes them; None where the field or its block does not exist."""

    field: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.field}: {self.before or 'not set'} → {self.after or 'not set'}"


def compare(before: Config, after: Config) -> list[FieldChange]:
    """The changes from one configuration to another, in the schema's order. A default written out is no change."""
    return list(_blocks(before, after, ""))


def _blocks(before: Any, after: Any, path: str) -> Iterator[FieldChange]:
    """`before` and `after` are messages of one type; one of them may be None."""
    there = before if before is not None else after
    for field in sorted(there.DESCRIPTOR.fields, key=lambda field: field.number):
        where = f"{path}.{field.name}" if path else field.name
        if _is_map(field):
            yield from _maps(field, before, after, where)
        elif field.is_repeated:
            yield from _lists(field, before, after, where)
        elif field.message_type is not None:
            yield from _items(field, _block(before, field), _block(after, field), where)
        else:
            yield from _items(field, *_scalars(field, before, after), where)


def _lists(field: Any, before: Any, after: Any, where: str) -> Iterator[FieldChange]:
    lists = [list(getattr(message, field.name)) if message is not None else [] for message in (before, after)]
    for index, (old, new) in enumerate(zip_longest(*lists)):
        yield from _items(field, old, new, f"{where}[{index}]")


def _maps(field: Any, before: Any, after: Any, where: str) -> Iterator[FieldChange]:
    old, new = (dict(getattr(message, field.name)) if message is not None else {} for message in (before, after))
    value = field.message_type.fields_by_name["value"]
    for key in sorted(old.keys() | new.keys()):
        yield from _items(value, old.get(key), new.get(key), f"{where}[{key}]")


def _items(field: Any, old: Any, new: Any, where: str) -> Iterator[FieldChange]:
    if field.message_type is None:
        if old != new:
            yield FieldChange(where, written(field, old), written(field, new))
        return
    if old is None and new is None:
        return
    inner = list(_blocks(old, new, where))
    if not inner and (old is None or new is None):  # an empty block is a setting too
        inner = [FieldChange(where, None if old is None else "{ }", None if new is None else "{ }")]
    yield from inner


def _block(message: Any, field: Any) -> Any:
    return getattr(message, field.name) if message is not None and message.HasField(field.name) else None


def _scalars(field: Any, before: Any, after: Any) -> tuple[Any, Any]:
    """Both values. An unset field of an existing block has its default, unless it is part of a oneof."""
    set_somewhere = any(message is not None and message.HasField(field.name) for message in (before, after))
    if not set_somewhere:
        return None, None
    is_choice = field.containing_oneof is not None
    old, new = (
        None if message is None or (is_choice and not message.HasField(field.name)) else getattr(message, field.name)
        for message in (before, after)
    )
    return old, new


def written(field: Any, value: Any) -> str | None:
    """A value as pipeline.config writes it."""
    if value is None:
        return None
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return "true" if value else "false"
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return str(field.enum_type.values_by_number[value].name)
    if field.cpp_type == FieldDescriptor.CPPTYPE_FLOAT:
        return repr(shortest(value))
    return f'"{value}"' if field.cpp_type == FieldDescriptor.CPPTYPE_STRING else str(value)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
