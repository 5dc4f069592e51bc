"""Encode and decode tf.train.Example messages without TensorFlow.

The schema is built in a separate descriptor pool. TensorFlow registers the same message names in the default pool, and
a second registration there would fail.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from services.domain.tfrecord import DatasetError

__all__ = ["Feature", "decode", "decode_some", "encode"]

Feature = list[bytes] | list[float] | list[int]

_PACKAGE = "tensorflow"
_FIELD = descriptor_pb2.FieldDescriptorProto


def encode(
    *,
    byte_lists: Mapping[str, Iterable[bytes]] | None = None,
    floats: Mapping[str, Iterable[float]] | None = None,
    ints: Mapping[str, Iterable[int]] | None = None,
) -> bytes:
    """A serialized Example. Equal features give equal bytes, in any order.

    The argument, not the values, determines the type, so that an empty list keeps its type.
    """
    example = _Example()
    feature = example.features.feature
    for name, byte_values in (byte_lists or {}).items():
        _fill(feature[name].bytes_list, byte_values)
    for name, float_values in (floats or {}).items():
        _fill(feature[name].float_list, float_values)
    for name, int_values in (ints or {}).items():
        _fill(feature[name].int64_list, int_values)
    return bytes(example.SerializeToString(deterministic=True))


def decode(payload: bytes) -> dict[str, Feature]:
    """The features of a serialized Example, by name. Raises DatasetError."""
    features = _parsed(_Example, payload).features.feature
    return {name: _values(feature) for name, feature in sorted(features.items())}


def decode_some(payload: bytes, names: Collection[str]) -> dict[str, Feature]:
    """These features only, if they are there. The others stay bytes: a list of numbers takes ten times as much memory.

    Raises DatasetError.
    """
    features = _parsed(_UndecodedExample, payload).features.feature
    return {name: _values(_parsed(_Feature, features[name])) for name in names if name in features}


def _parsed(kind: Any, payload: bytes) -> Any:
    try:
        return kind.FromString(payload)
    except DecodeError as error:
        raise DatasetError("dataset_bad_example", f"not a tf.train.Example: {error}") from None


def _fill(target: Any, values: Iterable[object]) -> None:
    target.SetInParent()  # sets the type of an empty list too
    target.value.extend(values)


def _values(feature: Any) -> Feature:
    kind = feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


def _classes() -> tuple[Any, Any, Any]:
    """Example, Feature, and an Example whose features are bytes that nobody has decoded."""
    file = descriptor_pb2.FileDescriptorProto(name="downshift/example.proto", package=_PACKAGE, syntax="proto3")
    _add_value_list(file, "BytesList", _FIELD.TYPE_BYTES)
    _add_value_list(file, "FloatList", _FIELD.TYPE_FLOAT)
    _add_value_list(file, "Int64List", _FIELD.TYPE_INT64)

    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, kind) in enumerate(
        (("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), start=1
    ):
        _add_message_field(feature, name, number, kind).oneof_index = 0

    _add_message_field(_add_example(file, ""), "value", 2, "Feature")
    _add_example(file, "Undecoded").field.add(
        name="value", number=2, type=_FIELD.TYPE_BYTES, label=_FIELD.LABEL_OPTIONAL
    )

    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    whole, single, undecoded = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in ("Example", "Feature", "UndecodedExample")
    )
    return whole, single, undecoded


def _add_example(file: descriptor_pb2.FileDescriptorProto, prefix: str) -> descriptor_pb2.DescriptorProto:
    """Add an Example and its map of features; returns the map's entry, which lacks the value."""
    features = file.message_type.add(name=f"{prefix}Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL)
    _add_message_field(features, "feature", 1, f"{prefix}Features.FeatureEntry").label = _FIELD.LABEL_REPEATED
    _add_message_field(file.message_type.add(name=f"{prefix}Example"), "features", 1, f"{prefix}Features")
    return entry


def _add_value_list(file: descriptor_pb2.FileDescriptorProto, name: str, kind: "_FIELD.Type.ValueType") -> None:
    field = file.message_type.add(name=name).field.add(name="value", number=1, type=kind, label=_FIELD.LABEL_REPEATED)
    if kind != _FIELD.TYPE_BYTES:
        field.options.packed = True


def _add_message_field(
    message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: str
) -> descriptor_pb2.FieldDescriptorProto:
    return message.field.add(
        name=name,
        number=number,
        type=_FIELD.TYPE_MESSAGE,
        label=_FIELD.LABEL_OPTIONAL,
        type_name=f".{_PACKAGE}.{kind}",
    )


_Example, _Feature, _UndecodedExample = _classes()
