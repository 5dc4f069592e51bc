"""Turn pydantic's validation errors into sentences for people."""

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from api.schemas.patterns import EXPLAINED
from services.domain.sizes import counted
from services.domain.suggestions import close_names, shortened
from services.errors import Fault

__all__ = ["faults_of"]

_MAX_FAULTS = 20
_PARTS = ("body", "query", "path", "header", "cookie")
# Names of our fields in other tools.
_ALIASES = {
    "epochs": "train.epochs",
    "num_epochs": "train.epochs",
    "num_steps": "train.steps",
    "max_steps": "train.steps",
    "iterations": "train.steps",
    "batch": "train.batch_size",
    "lr": "train.learning_rate",
    "fine_tune_checkpoint": "checkpoint",
    "config": "pipeline_config",
    "gpu_memory": "device.min_memory_mb",
}
_LENGTH = ("train.epochs", "train.steps")


def faults_of(errors: Sequence[Mapping[str, Any]], body: Any, epoch: Callable[[], str]) -> list[Fault]:
    """One fault for each of pydantic's first `errors`: one body can cause a hundred thousand.

    `body`: the expected type of the body. `epoch`: returns the length of an epoch as a clause; it reads files, so it
    is called only for a field that means the length of a job.
    """
    found = [Fault(_field(error["loc"]), _sentence(error, body, epoch)) for error in errors[:_MAX_FAULTS]]
    if len(errors) > _MAX_FAULTS:
        found.append(Fault("body", f"has {len(errors) - _MAX_FAULTS:,} more faults"))
    return found


def _field(location: Sequence[int | str]) -> str:
    """`train.steps` for the location body, train, steps."""
    parts = [shortened(str(part)) for part in location]
    if len(parts) > 1 and parts[0] in _PARTS:
        parts = parts[1:]
    return ".".join(parts)


def _sentence(error: Mapping[str, Any], body: Any, epoch: Callable[[], str]) -> str:
    if error["type"] == "extra_forbidden":
        return _unknown_field(error["loc"], body, epoch)
    context = error.get("ctx") or {}
    describe = _SENTENCES.get(error["type"])
    return describe(context) if describe else str(error["msg"])


def _unknown_field(location: Sequence[int | str], body: Any, epoch: Callable[[], str]) -> str:
    *outer, name = [str(part) for part in (location[1:] if location[0] == "body" else location)]
    model = _model_at(body, outer)
    known = list(model.model_fields) if model else []
    paths = list(_paths(body)) if model else []
    meant = next((path for path in paths if path == _ALIASES.get(name) or path.rpartition(".")[2] == name), None)
    if meant in _LENGTH:
        return f"no such field; a job's length is train.steps or train.epochs{epoch()}"
    if meant:
        return f"no such field here; did you mean {meant}?"
    close = close_names(name, known)
    if close:
        return f"no such field; did you mean {'.'.join([*outer, close[0]])}?"
    where = ".".join(outer) or "the body"
    return f"no such field; {where} can have {', '.join(known)}" if known else "no such field"


def _model_at(annotation: Any, path: Sequence[str]) -> type[BaseModel] | None:
    """The model that is expected at a path below `annotation`; None: no model."""
    model = _model(annotation)
    for name in path:
        field = model.model_fields.get(name) if model else None
        model = _model(field.annotation) if field else None
    return model


def _model(annotation: Any) -> type[BaseModel] | None:
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _paths(annotation: Any) -> Iterator[str]:
    """The paths of all fields of a body: `train`, `train.steps`, …"""
    model = _model(annotation)
    for name, field in model.model_fields.items() if model else ():
        yield name
        yield from (f"{name}.{inner}" for inner in _paths(field.annotation))


def _listed(context: Mapping[str, Any]) -> str:
    return f"must be one of {str(context['expected']).replace(chr(39), '').replace(' or ', ', ')}"


def _always(sentence: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda _: sentence


_WHOLE_NUMBER = _always("must be a whole number")
_NUMBER = _always("must be a number")
_TRUE_OR_FALSE = _always("must be true or false")
_OBJECT = _always('must be an object: {"field": value, …}')

_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": _always("is missing"),
    "value_error": lambda context: str(context["error"]),
    "int_type": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_parsing_size": _always("is too large a number"),
    "int_from_float": _WHOLE_NUMBER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _always("must be a number, not NaN or infinity"),
    "bool_type": _TRUE_OR_FALSE,
    "bool_parsing": _TRUE_OR_FALSE,
    "string_type": _always("must be a text in quotes"),
    "string_unicode": _always("is not valid Unicode text"),
    "string_too_short": lambda context: (
        "must not be empty"
        if context["min_length"] == 1
        else f"must have at least {counted(context['min_length'], 'character')}"
    ),
    "string_too_long": lambda context: f"must have at most {counted(context['max_length'], 'character')}",
    "string_pattern_mismatch": lambda context: EXPLAINED.get(context["pattern"], "has characters that are not allowed"),
    "list_type": _always("must be a list: [value, …]"),
    "too_short": lambda context: f"must have at least {counted(context['min_length'], 'item')}",
    "too_long": lambda context: f"must have at most {counted(context['max_length'], 'item')}",
    "literal_error": _listed,
    "enum": _listed,
    "greater_than": lambda context: f"must be above {context['gt']:g}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']}",
    "less_than": lambda context: f"must be below {context['lt']:g}",
    "less_than_equal": lambda context: f"must be at most {context['le']}",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
}
