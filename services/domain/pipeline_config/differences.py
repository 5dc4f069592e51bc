"""The differences between a submitted configuration and the one that runs, each with a reason.

The differences come from comparing the two messages, so none is left out. The reasons come from a table. A difference
that the table does not cover is a bug; it is listed as unexplained.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from services.domain.pipeline_config.compare import FieldChange, compare, written
from services.domain.pipeline_config.paths import PATH_FIELDS
from services.domain.pipeline_config.problems import clipped
from services.domain.pipeline_config.schema.text import Config

_LONGEST_VALUE = 200  # characters
_MOST_ITEMS = 12  # of a list; longer lists are counted instead of shown


class Group(StrEnum):
    """The kind of reason for a difference, in the order in which people should read them."""

    MEMORY = "memory"  # a lever or a remedy
    REQUEST = "request"  # the request overrides the configuration
    CHECKPOINT = "checkpoint"
    DATASET = "dataset"
    EVALUATION = "evaluation"
    INPUT = "input"  # sizes of the input pipeline
    FILES = "files"
    UNUSED = "unused"  # in the configuration, but without effect
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Explanation:
    group: Group
    text: str
    lever: str | None = None


@dataclass(frozen=True)
class Decisions:
    """What was decided between submitting and running, by the name of the plan's setting (`steps`, `image_size`…)."""

    # By the planner. The settings of an input reader stand under their path.
    decided: Mapping[str, Explanation] = field(default_factory=dict)
    requested: Mapping[str, str] = field(default_factory=dict)  # the request's name for it, as `train.steps`
    checkpoint: str | None = None  # the registered checkpoint that training starts from


@dataclass(frozen=True)
class Difference:
    """For an unused field `after` is None: it stays in the configuration and has no effect."""

    field: str
    before: str | None
    after: str | None
    reason: Explanation


def differences(submitted: Config, run: Config, decisions: Decisions) -> list[Difference]:
    """Every difference, sorted by group; long lists as one entry, file names without folders."""
    found = [
        Difference(change.field, _clipped(change.before), _clipped(_without_folder(change)), reason)
        for change in _folded(compare(submitted, run))
        for reason in (explain(change, decisions),)
    ]
    order = list(Group)
    return sorted([*found, *_unused(run)], key=lambda one: order.index(one.reason.group))


def explain(change: FieldChange, decisions: Decisions) -> Explanation:
    """Why that field differs from what was submitted."""
    path = change.field
    for setting in settings_of(path):
        if setting in decisions.decided:
            return decisions.decided[setting]
        if setting in decisions.requested:
            return Explanation(Group.REQUEST, decisions.requested[setting])
    if path in decisions.decided:
        return decisions.decided[path]
    if re.match(r"train_config\.(fine_tune_checkpoint|from_detection_checkpoint)", path):
        return Explanation(Group.CHECKPOINT, _checkpoint(path, decisions.checkpoint))
    return next((reason for pattern, reason in _FIXED if pattern.search(path)), _NO_REASON)


def settings_of(path: str) -> list[str]:
    """The plan's settings that decide a field; the first one that changed is the reason."""
    return [setting for pattern, setting in _SETTINGS if pattern.search(path)]


_SETTINGS: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), setting)
    for pattern, setting in (
        (r"^train_config\.batch_size$", "batch_size"),
        (r"^train_config\.use_bfloat16$", "precision"),
        (r"^train_config\.num_steps$", "steps"),
        (r"^train_config\.optimizer\..*(_steps|\.step)$", "steps"),
        (r"^train_config\.optimizer\..*(rate|rate_base)$", "learning_rate"),
        (r"^model\..*\.first_stage_max_proposals$", "proposals"),
        (r"^model\..*\.second_stage_batch_size$", "second_stage_batch"),
        (r"^model\.[a-z_]+\.image_resizer\.", "image_size"),
        (r"^train_config\.data_augmentation_options.*output_size$", "image_size"),
        (r"^model\.(?!.*\.num_classes$)(?!.*\.image_resizer\.)", "model"),
        (r"^train_config\.(fine_tune_checkpoint|from_detection_checkpoint)", "start"),
        (r"^train_config\.(fine_tune_checkpoint|from_detection_checkpoint)", "model"),
    )
]
_READERS = r"^(train_input_reader|eval_input_reader\[(0|\*)\])\."
_FIXED: Sequence[tuple[re.Pattern[str], Explanation]] = [
    (re.compile(pattern), Explanation(group, text))
    for pattern, group, text in (
        (rf"{_READERS}(label_map_path|tf_record_input_reader|external_input_reader)", Group.DATASET,
         "the dataset's own files"),
        (rf"{_READERS}sample_from_datasets_weights", Group.DATASET, "they weight files, and the dataset has its own"),
        (r"^eval_input_reader\[0\]$", Group.DATASET, "the dataset's own files"),
        (r"^eval_input_reader\[(?!0\])", Group.DATASET, "the dataset has one validation set, read by the first reader"),
        (r"\.num_classes$", Group.DATASET, "the dataset's number of classes"),
        (rf"{_READERS}(load_instance_masks|mask_type)", Group.DATASET,
         "masks are read where the model learns them, as PNG images"),
        (r"^eval_input_reader\[(0|\*)\]\.max_number_of_boxes$", Group.EVALUATION,
         "no validation image has more boxes, and all of them count"),
        (r"^train_(config|input_reader)\.max_number_of_boxes$", Group.DATASET,
         "no image of the dataset has more boxes, and padding to more wastes memory (with masks: whole images)"),
        (r"^eval_input_reader\[(0|\*)\]\.(shuffle|num_epochs)$", Group.EVALUATION,
         "each validation image is evaluated once, in order"),
        (r"^eval_config\.(eval_instance_masks|metrics_set)", Group.EVALUATION, "the model's masks are evaluated too"),
        (rf"{_READERS}(shuffle_buffer_size|num_readers|num_parallel_batches|num_prefetch_batches|read_block_length)$",
         Group.INPUT, "sized to the dataset, and to the memory that the host has free when the job starts"),
        (rf"{_READERS}num_parallel_map_calls$", Group.INPUT, "images decoded at once: the host's cores and memory"),
        (r"^train_config\.num_steps$", Group.REQUEST, "the length of the learning rate's schedule, as none is given"),
        (rf"(^|\.)({'|'.join(sorted(PATH_FIELDS))})(\[|\.|$)", Group.FILES,
         "files and addresses of another machine are never used"),
    )
]  # fmt: skip
_NO_REASON = Explanation(Group.UNEXPLAINED, "Downshift changed it without a known reason: please report this as a bug")

_TF1 = "the Object Detection API uses it under TF1 only"
_QUEUES = dict.fromkeys(("queue_capacity", "min_after_dequeue", "prefetch_size"), _TF1)
_UNUSED: Mapping[str, Mapping[str, str]] = {
    "train_config": {
        **dict.fromkeys(("sync_replicas", "replicas_to_aggregate", "startup_delay_steps"), "one device trains the job"),
        "keep_checkpoint_every_n_hours": "the newest checkpoints are kept",
        **dict.fromkeys(("batch_queue_capacity", "num_batch_queue_threads", "prefetch_queue_capacity"), _TF1),
        **dict.fromkeys(("bias_grad_multiplier", "summarize_gradients"), _TF1),
    },
    "eval_config": {
        "batch_size": "evaluation takes one image at a time",
        **dict.fromkeys(("num_examples", "max_evals"), "the whole validation set is evaluated"),
        "eval_interval_secs": "evaluation comes after steps, not seconds: see train.evaluations",
        "use_moving_averages": "averages are evaluated where the optimizer keeps them (use_moving_average)",
        "include_metrics_per_category": "results of each class are always computed",
        "force_no_resize": "images are resized as in training",
        **dict.fromkeys(
            ("num_visualizations", "min_score_threshold", "max_num_boxes_to_visualize", "skip_scores", "skip_labels",
             "visualize_groundtruth_boxes", "groundtruth_box_visualization_color",
             "keep_image_id_for_visualization_export", "retain_original_images", "save_graph"),
            "pictures of results are drawn in one way for all jobs",
        ),
    },
    "train_input_reader": _QUEUES,
    "eval_input_reader": _QUEUES,
}  # fmt: skip


def _unused(config: Config) -> Iterator[Difference]:
    for block, reasons in _UNUSED.items():
        is_repeated = config.DESCRIPTOR.fields_by_name[block].is_repeated
        message = getattr(config, block)
        for index, one in enumerate(message if is_repeated else [message]):
            where = f"{block}[{index}]" if is_repeated else block
            yield from _unused_of(one, where, reasons)


def _unused_of(message: Any, where: str, reasons: Mapping[str, str]) -> Iterator[Difference]:
    for known, value in message.ListFields():
        if known.name in reasons and value != known.default_value:
            reason = Explanation(Group.UNUSED, f"has no effect: {reasons[known.name]}")
            yield Difference(f"{where}.{known.name}", written(known, value), None, reason)


def _checkpoint(path: str, name: str | None) -> str:
    if name is None:
        return "training starts from random weights"
    if path.endswith("fine_tune_checkpoint"):
        return f"the registered checkpoint {name}"
    return f"{name} is a TF2 detection checkpoint: all its weights that fit are loaded"


def _folded(changes: Sequence[FieldChange]) -> Iterator[FieldChange]:
    """Lists with many changes as one entry: a configuration may name thousands of files."""
    lists: dict[str, list[FieldChange]] = {}
    for change in changes:
        lists.setdefault(re.sub(r"\[\d+\]", "[*]", change.field), []).append(change)
    for path, items in lists.items():
        if len(items) <= _MOST_ITEMS:
            yield from items
        else:
            before, after = (sum(getattr(item, side) is not None for item in items) for side in ("before", "after"))
            yield FieldChange(path, f"{before:,} values", f"{after:,} values" if after else None)


def _without_folder(change: FieldChange) -> str | None:
    """The new value, without folders of this machine, which users must not see."""
    name = re.sub(r"\[[^]]*\]", "", change.field).rpartition(".")[2]
    if change.after is None or name not in PATH_FIELDS or not change.after.startswith('"/'):
        return change.after
    return f'"{change.after.rpartition("/")[2]}'


def _clipped(value: str | None) -> str | None:
    return None if value is None else clipped(value, _LONGEST_VALUE)


def as_values(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """As the API returns them."""
    return [
        {
            "field": one.field,
            "before": one.before,
            "after": one.after,
            "group": str(one.reason.group),
            "reason": one.reason.text,
            "lever": one.reason.lever,
        }
        for one in found
    ]
