"""The Object Detection API's messages on protobuf's fast runtime, without TensorFlow.

The package ships `*_pb2.py` files generated before protobuf 3.20, which raise on protobuf 4 and later. Each holds its
schema as the literal `serialized_pb=b'…'`. This module reads the literal without running the file and builds the
classes from it. `install()` registers them under the names that the OD API imports.
"""

import ast
import functools
import importlib
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.internal import builder

PACKAGE = "object_detection.protos"
_SCHEMA = re.compile(r"serialized_pb=(b'(?:[^'\\\n]|\\.)*')")


@functools.cache
def install() -> dict[str, types.ModuleType]:
    """Register every `object_detection.protos.*_pb2` module; returns them by short name. Idempotent."""
    schemas = {schema.name: schema for schema in map(_read_schema, sorted(_folder().glob("*_pb2.py")))}
    modules: dict[str, types.ModuleType] = {}

    def add(schema: descriptor_pb2.FileDescriptorProto) -> None:
        name = Path(schema.name).stem + "_pb2"
        if name in modules:
            return
        for dependency in schema.dependency:
            add(schemas[dependency])
        modules[name] = _build(schema, f"{PACKAGE}.{name}")

    for schema in schemas.values():
        add(schema)
    package = importlib.import_module(PACKAGE)
    for name, module in modules.items():
        sys.modules[module.__name__] = module
        setattr(package, name, module)
    return modules


def message(module: str, name: str) -> Any:
    """A message class, e.g. `message("pipeline_pb2", "TrainEvalPipelineConfig")`."""
    return getattr(install()[module], name)


def _folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed (package tf-models-research-object-detection)")
    return Path(spec.submodule_search_locations[0])


def _read_schema(path: Path) -> descriptor_pb2.FileDescriptorProto:
    match = _SCHEMA.search(path.read_text(encoding="utf-8"))
    if match is None:
        raise ImportError(f"{path.name} holds no schema: another version of the OD API than the pinned one?")
    return descriptor_pb2.FileDescriptorProto.FromString(ast.literal_eval(match.group(1)))


def _build(schema: descriptor_pb2.FileDescriptorProto, module_name: str) -> types.ModuleType:
    module = types.ModuleType(module_name, f"Rebuilt from {schema.name}")
    descriptor = descriptor_pool.Default().AddSerializedFile(schema.SerializeToString())
    module.__dict__["DESCRIPTOR"] = descriptor
    builder.BuildMessageAndEnumDescriptors(descriptor, module.__dict__)
    builder.BuildTopDescriptorsAndMessages(descriptor, module_name, module.__dict__)
    return module
