"""Removes the fields of a user's configuration that name files, hosts or code."""

from typing import Any

from services.domain.pipeline_config.schema.text import Config, copied

PATH_FIELDS = frozenset(
    {
        "fine_tune_checkpoint",
        "label_map_path",
        "keypoint_label_map_path",
        "input_path",
        "export_path",
        "visualization_export_dir",
        "eval_master",  # an address
        "external_input_reader",  # names code that is not installed here
    }
)


def without_paths(config: Config) -> tuple[Config, list[str]]:
    """A copy without PATH_FIELDS at any depth, and the paths of the dropped fields."""
    cleared = copied(config)
    dropped: list[str] = []
    _clear(cleared, "", dropped)
    return cleared, dropped


def _clear(message: Any, path: str, dropped: list[str]) -> None:
    for field, value in message.ListFields():
        where = f"{path}.{field.name}" if path else field.name
        if field.name in PATH_FIELDS:
            message.ClearField(field.name)
            dropped.append(where)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            items = enumerate(value) if field.is_repeated else [(None, value)]
            for index, item in items:
                _clear(item, where if index is None else f"{where}[{index}]", dropped)
