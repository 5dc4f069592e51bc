"""Setters for the rest of a configuration. Each returns a changed copy and is idempotent."""

from collections.abc import Sequence
from typing import Any

from services.domain.catalogue import Family
from services.domain.pipeline_config.counts import count_problem
from services.domain.pipeline_config.families import family_of, network_path
from services.domain.pipeline_config.metrics import COCO_MASKS
from services.domain.pipeline_config.problems import refuse
from services.domain.pipeline_config.schema.text import Config, copied
from services.domain.pipeline_config.template import network_of


def set_batch_size(config: Config, batch_size: int) -> Config:
    """The batch size alone. `services.domain.plan.learning_rate` also adapts the steps and the learning rate."""
    _need_count("train_config.batch_size", batch_size)
    changed = copied(config)
    changed.train_config.batch_size = batch_size
    return changed


def set_precision(config: Config, *, bfloat16: bool) -> Config:
    """Mixed bfloat16, or what the attempt's spec says. The OD API reads this field on TPUs only, our trainer always."""
    changed = copied(config)
    if changed.train_config.use_bfloat16 != bfloat16:
        changed.train_config.use_bfloat16 = bfloat16
    return changed


def set_proposals(config: Config, proposals: int | None = None, second_stage_batch: int | None = None) -> Config:
    """Proposals per image, and how many of them the second stage trains on; None keeps the value."""
    if family_of(config) is Family.EFFICIENTDET:
        raise refuse("model.ssd", "has no second stage, so no proposals to set")
    changed = copied(config)
    network = changed.model.faster_rcnn
    _set_count(network, "first_stage_max_proposals", proposals)
    _set_count(network, "second_stage_batch_size", second_stage_batch)
    if network.second_stage_batch_size > network.first_stage_max_proposals:
        raise refuse(
            "model.faster_rcnn.second_stage_batch_size",
            f"samples {network.second_stage_batch_size} from {network.first_stage_max_proposals} proposals: "
            "lower it, or keep more proposals",
        )
    return changed


def set_data(
    config: Config,
    train_files: Sequence[str],
    eval_files: Sequence[str],
    label_map: str,
    num_classes: int,
    masks: bool,
) -> Config:
    """A copy that reads these TFRecords and this label map. `masks`: the records have masks. Other settings stay."""
    for name, files in (("train_input_reader", train_files), ("eval_input_reader", eval_files)):
        if not files:
            raise refuse(name, "no file to read")
    _need_count(f"{network_path(config)}.num_classes", num_classes)
    wants_masks = family_of(config) is Family.MASK_RCNN
    if wants_masks and not masks:
        raise refuse("train_input_reader", "Mask R-CNN needs a dataset with masks: choose one, or a Faster R-CNN model")
    changed = copied(config)
    network_of(changed).num_classes = num_classes
    del changed.eval_input_reader[1:]  # more evaluation sets are files of the user's machine
    evaluation = changed.eval_input_reader[0] if changed.eval_input_reader else changed.eval_input_reader.add()
    _point_reader(changed.train_input_reader, train_files, label_map, wants_masks)
    _point_reader(evaluation, eval_files, label_map, wants_masks)
    evaluation.shuffle, evaluation.num_epochs = False, 1
    if wants_masks:
        _evaluate_masks(changed.eval_config)
    return changed


def set_checkpoint(config: Config, path: str | None) -> Config:
    """A copy that starts from a TF2 detection checkpoint, or from random weights (None)."""
    changed = copied(config)
    train = changed.train_config
    for name in ("fine_tune_checkpoint", "fine_tune_checkpoint_type", "from_detection_checkpoint"):
        train.ClearField(name)
    train.fine_tune_checkpoint_version = _enum_value(train, "fine_tune_checkpoint_version", "V2")
    if path is not None:
        train.fine_tune_checkpoint = path
        train.fine_tune_checkpoint_type = "detection"
    return changed


def _enum_value(message: Any, field: str, name: str) -> int:
    number: int = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_name[name].number
    return number


def _set_count(message: Any, name: str, value: int | None) -> None:
    if value is None or getattr(message, name) == value:
        return
    _need_count(f"model.faster_rcnn.{name}", value)
    setattr(message, name, value)


def _need_count(field: str, value: int) -> None:
    problem = count_problem(value)
    if problem:
        raise refuse(field, problem)


def _point_reader(reader: Any, files: Sequence[str], label_map: str, masks: bool) -> None:
    reader.label_map_path = label_map
    reader.ClearField("external_input_reader")
    reader.ClearField("sample_from_datasets_weights")  # one weight per input_path: those have changed
    reader.tf_record_input_reader.input_path[:] = files
    if masks:
        reader.load_instance_masks = True
        reader.mask_type = _enum_value(reader, "mask_type", "PNG_MASKS")
    elif reader.load_instance_masks:
        reader.load_instance_masks = False  # a box model does not use them


def _evaluate_masks(evaluation: Any) -> None:
    evaluation.eval_instance_masks = True
    if COCO_MASKS not in evaluation.metrics_set:
        evaluation.metrics_set.append(COCO_MASKS)
