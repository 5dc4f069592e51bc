"""Compose an attempt's pipeline.config from the job's configuration, its plan and its dataset."""

from services.datasets.dataset import Dataset
from services.domain import catalogue, pipeline_config
from services.domain.pipeline_config import Config
from services.domain.plan.adjustments import NONE, Adjustments, bounded
from services.domain.plan.plan import Plan
from services.domain.tfrecord import DatasetError

__all__ = ["compose", "with_dataset"]


def compose(
    base: Config,
    plan: Plan,
    dataset: Dataset,
    *,
    checkpoint: str | None = None,
    host_memory_mb: int,
    threads: int | None = None,
    adjustments: Adjustments = NONE,
    is_own: bool = False,
) -> Config:
    """`base` with the settings of `plan` and the files of `dataset`. Starts from `checkpoint`, a path, if it is given.

    `threads`: the cores for the job, None if the host is not known yet. `is_own`: the job's owner sent the
    configuration, so its own limits on boxes apply.
    """
    planned = pipeline_config.apply(plan, base)
    config = with_dataset(planned, dataset, host_memory_mb, adjustments, threads=threads, is_own=is_own)
    return pipeline_config.set_checkpoint(config, checkpoint) if checkpoint else config


def with_dataset(
    config: Config,
    dataset: Dataset,
    host_memory_mb: int,
    adjustments: Adjustments = NONE,
    *,
    threads: int | None = None,
    is_own: bool = False,
) -> Config:
    """`config` with the files of `dataset`, and input readers that fit it and the host's free memory and cores.

    Raises DatasetError if the model needs masks and the dataset has none.
    """
    model = catalogue.get(pipeline_config.identify(config))
    if model.needs_masks and not dataset.has_masks:
        problem = f"{dataset.folder.name!r} has no masks (image/object/mask), which Mask R-CNN needs"
        raise DatasetError("dataset_refused", f"{problem}: choose a dataset with masks, or a Faster R-CNN model")
    config = pipeline_config.set_data(
        config,
        train_files=[str(file) for file in dataset.train_files],
        eval_files=[str(file) for file in dataset.validation_files],
        label_map=str(dataset.label_map),
        num_classes=dataset.num_classes,
        masks=dataset.has_masks,
    )
    own = pipeline_config.own_boxes(config) if is_own else None
    sizes = pipeline_config.size_input_readers(
        records=dataset.records,
        record_bytes=dataset.record_bytes,
        files=len(dataset.train_files),
        host_memory_mb=host_memory_mb,
        image_size=pipeline_config.image_size(config),
        masks=model.needs_masks,
        batch=config.train_config.batch_size,
        threads=threads,
        most_boxes=dataset.most_boxes,
        own_boxes=own,
    )
    evaluated = pipeline_config.evaluated_boxes(dataset.most_boxes, own, masks=model.needs_masks)
    return pipeline_config.set_input_readers(config, bounded(sizes, adjustments), evaluated)
