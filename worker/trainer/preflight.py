"""Checks that need no TensorFlow. They take under a second, and their errors name the file and the field."""

import glob
from collections import Counter
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from services.domain import pipeline_config, tfrecord
from services.domain.contract import CONFIG_FILE, AttemptSpec, Reason
from services.domain.pipeline_config.schema import messages
from worker.trainer.failures import AttemptEnd


def read_config(attempt_dir: Path) -> Any:
    """Parse the attempt's pipeline.config with the OD API's schema, and check that it is of a supported family."""
    path = attempt_dir / CONFIG_FILE
    try:
        config = pipeline_config.parse(path.read_text(encoding="utf-8"))
        pipeline_config.check(config)
    except (OSError, UnicodeDecodeError) as error:
        raise AttemptEnd(Reason.BAD_CONFIG, f"{CONFIG_FILE} cannot be read: {error}") from None
    except pipeline_config.ConfigError as error:
        raise AttemptEnd(Reason.BAD_CONFIG, f"{CONFIG_FILE}: {error}") from None
    return config


def check(spec: AttemptSpec, config: Any) -> None:
    """Check every file that the attempt will open. Raises an AttemptEnd for the first problem."""
    batch = config.train_config.batch_size
    for micro_batch in (spec.micro_batch or batch, *(spec.probe.micro_batches if spec.probe else ())):
        if batch % micro_batch:
            raise AttemptEnd(
                Reason.BAD_SPEC, f"micro_batch: {micro_batch} does not divide train_config.batch_size {batch}"
            )
    check_records("train_input_reader", config.train_input_reader)
    for number, reader in enumerate(config.eval_input_reader):
        check_records(f"eval_input_reader[{number}]", reader)
        check_label_map(f"eval_input_reader[{number}]", reader, classes_of(config))
    check_label_map("train_input_reader", config.train_input_reader, classes_of(config))
    check_checkpoint(config.train_config.fine_tune_checkpoint)


def classes_of(config: Any) -> int:
    return int(getattr(config.model, config.model.WhichOneof("model")).num_classes)


def record_files(reader: Any) -> list[str]:
    """The files that `input_path` names; wildcards are expanded as by the OD API."""
    return sorted(file for pattern in reader.tf_record_input_reader.input_path for file in glob.glob(pattern))


def check_records(field: str, reader: Any) -> None:
    """Check that all files exist and are complete, and that there is at least one record in total."""
    paths = reader.tf_record_input_reader.input_path
    if not paths:
        raise AttemptEnd(Reason.BAD_DATASET, f"{field}.tf_record_input_reader.input_path: no file is named")
    for pattern in paths:
        if not glob.glob(pattern):
            raise AttemptEnd(Reason.BAD_DATASET, f"{field}: there is no file {pattern!r}")
    try:
        records = sum(tfrecord.scan(Path(file), allow_empty=True).records for file in record_files(reader))
    except tfrecord.DatasetError as error:
        raise AttemptEnd(Reason.BAD_DATASET, f"{field}: {error}") from None
    if not records:
        raise AttemptEnd(Reason.BAD_DATASET, f"{field}: the dataset is empty, {', '.join(paths)} hold no record")


def read_label_map(field: str, reader: Any) -> Any:
    where, path = f"{field}.label_map_path", Path(reader.label_map_path)
    try:
        label_map = messages.message("string_int_label_map_pb2", "StringIntLabelMap")()
        return text_format.Parse(path.read_text(), label_map)
    except OSError as error:
        raise AttemptEnd(Reason.BAD_DATASET, f"{where}: {path} cannot be read: {error.strerror}") from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise AttemptEnd(Reason.BAD_DATASET, f"{where}: {path.name} is not a label map: {error}") from None


def class_ids(field: str, reader: Any) -> dict[str, int]:
    """Class ids by name. The OD API accepts names and display names in records."""
    items = read_label_map(field, reader).item
    return {name: item.id for item in items for name in (item.name, item.display_name) if name}


def check_label_map(field: str, reader: Any, num_classes: int) -> None:
    """Check that ids are unique, named and in 1 … num_classes. Gaps are allowed (COCO has them), and 0 (background)."""
    where, path = f"{field}.label_map_path", Path(reader.label_map_path)
    items = read_label_map(field, reader)
    ids = [item.id for item in items.item]
    twice = [i for i, count in Counter(ids).items() if count > 1]
    if twice:
        raise AttemptEnd(Reason.BAD_DATASET, f"{where}: id {twice[0]} occurs twice in {path.name}")
    if not any(ids):
        raise AttemptEnd(Reason.BAD_DATASET, f"{where}: {path.name} names no class")
    outside = [i for i in ids if not 0 <= i <= num_classes]
    if outside:
        raise AttemptEnd(
            Reason.BAD_DATASET,
            f"{where}: {path.name} has {len(ids)} classes, one with id {outside[0]}, but the model has num_classes "
            f"{num_classes}: ids must be 1 to {num_classes}",
        )
    unnamed = [item.id for item in items.item if not (item.name or item.display_name)]
    if unnamed:
        raise AttemptEnd(Reason.BAD_DATASET, f"{where}: id {unnamed[0]} has no name in {path.name}")


def check_checkpoint(prefix: str) -> None:
    if prefix and not Path(prefix + ".index").exists():
        raise AttemptEnd(
            Reason.BAD_CHECKPOINT,
            f"train_config.fine_tune_checkpoint: there is no checkpoint {prefix!r} (no file {prefix}.index)",
        )
