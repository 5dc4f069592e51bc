"""Collect what the doctor needs to know of a job's training, and ask it.

A handful of queries, whatever the length of the job: series are read as at most `_POINTS` means of blocks. That is for
a job of its own, not for each one of a list.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from services.datasets import library
from services.domain import catalogue, pipeline_config
from services.domain.box_counts import BoxCounts
from services.domain.contract import TOTAL_LOSS, VALIDATION_LOSS, EventKind, Reason
from services.domain.doctor.advice import Advice, Code
from services.domain.doctor.examine import examine
from services.domain.doctor.training import Evaluation, Point, Training
from services.domain.jobs.states import State
from services.domain.pipeline_config import ConfigError
from services.domain.tfrecord import DatasetError
from services.settings import Settings
from services.store import attempts, events, jobs, training_series
from services.store.models import Attempt, Event, Job
from services.store.training_series import Bucket

__all__ = ["of_job", "of_lost_numbers"]

_POINTS = 100
_RATE = "learning_rate"
# A configuration of the owner's may ask for Pascal VOC's metrics. The first of these that there is counts.
_BOX_MAPS = ("DetectionBoxes_Precision/mAP", "PascalBoxes_Precision/mAP@0.5IOU")
_MASK_MAP = "DetectionMasks_Precision/mAP"
_SERIES = (TOTAL_LOSS, _RATE, VALIDATION_LOSS, *_BOX_MAPS, _MASK_MAP)
_SAME = ("model", "batch_size", "learning_rate", "image_size")  # of the plan: otherwise steps or losses differ


def of_job(session: Session, settings: Settings, job: Job) -> tuple[Advice, ...]:
    """The mistakes that the job's training shows so far."""
    tried = attempts.of_job(session, job.id)
    if not tried:
        return ()
    lost = tried[-1].reason == Reason.NAN_LOSS
    return examine(_training(session, job, tried, lost_numbers=lost, images=_images(settings, job.dataset)))


def of_lost_numbers(session: Session, job_id: int, number: int) -> str | None:
    """What to add to the message of an attempt that failed because its loss was no number; None: nothing."""
    job = jobs.get(session, job_id)
    tried = [one for one in attempts.of_job(session, job_id) if one.number <= number]
    if job is None or not tried:
        return None
    found = {one.code: one for one in examine(_training(session, job, tried, lost_numbers=True))}
    if Code.LEARNING_RATE_HIGH in found:
        rate = found[Code.LEARNING_RATE_HIGH]
        return f"{rate.seen} {rate.remedy}"
    return found[Code.LOSS_NOT_FINITE].seen


def _training(
    session: Session, job: Job, tried: Sequence[Attempt], *, lost_numbers: bool, images: int | None = None
) -> Training:
    tried = _of_one_plan(tried)
    newest = tried[-1]
    plan: Mapping[str, Any] = newest.plan
    optimizer, is_warm = _read_config(newest.config or job.base_config)
    model = catalogue.MODELS.get(plan["model"])
    series = _series(session, job.id, tried)
    is_comparable = model is not None and optimizer == "momentum_optimizer"
    return Training(
        batch_size=plan["batch_size"],
        steps=plan["steps"],
        step=newest.step,
        learning_rate=plan["learning_rate"],
        usual_learning_rate=model.learning_rate_for(plan["batch_size"]) if model and is_comparable else None,
        is_over=job.state == State.SUCCEEDED or newest.step >= plan["steps"],
        is_warm=is_warm,
        lost_numbers=lost_numbers,
        images=images,
        loss=series[TOTAL_LOSS],
        rates=series[_RATE],
        validation_loss=series[VALIDATION_LOSS],
        box_map=next((series[name] for name in _BOX_MAPS if series[name]), ()),
        mask_map=series[_MASK_MAP],
        evaluation=_evaluation(events.newest_of_kind(session, job.id, EventKind.EVAL), tried[0].number),
    )


def _series(session: Session, job_id: int, tried: Sequence[Attempt]) -> dict[str, list[Point]]:
    """The series over the attempts of one plan. Where an attempt repeats steps, its values replace earlier ones."""
    numbers = {attempt.number for attempt in tried}
    found: dict[str, list[Point]] = {name: [] for name in _SERIES}
    begins: dict[tuple[str, int], int] = {}
    buckets = [one for one in training_series.series(session, job_id, _SERIES, _POINTS) if one.attempt in numbers]
    for bucket in buckets:
        begins.setdefault((bucket.name, bucket.attempt), bucket.step)
    for bucket in buckets:
        if not _is_repeated(bucket, begins):
            found[bucket.name].append(Point(bucket.step, bucket.mean))
    return found


def _is_repeated(bucket: Bucket, begins: Mapping[tuple[str, int], int]) -> bool:
    return any(
        name == bucket.name and attempt > bucket.attempt and step <= bucket.step
        for (name, attempt), step in begins.items()
    )


def _of_one_plan(tried: Sequence[Attempt]) -> Sequence[Attempt]:
    """The newest attempt, and those before it back to the last one with another plan."""
    newest = tried[-1].plan

    def is_same(attempt: Attempt) -> bool:
        return all(attempt.plan.get(name) == newest.get(name) for name in _SAME)

    return [*itertools.takewhile(is_same, reversed(tried))][::-1]


def _evaluation(event: Event | None, first_attempt: int) -> Evaluation | None:
    if event is None or (event.attempt or 0) < first_attempt:
        return None
    data: Mapping[str, Any] = event.data
    metrics, step, images = data.get("metrics") or {}, data.get("step"), data.get("images")
    return Evaluation(
        step=step if isinstance(step, int) else 0,
        has_metrics=any(not str(name).startswith("Loss/") for name in metrics),
        images=images if isinstance(images, int) else None,
        boxes=BoxCounts.from_values(data.get("boxes")),
    )


@functools.lru_cache(maxsize=32)  # parsing takes milliseconds, and a job's page asks after each of its events
def _read_config(text: str) -> tuple[str | None, bool]:
    """The optimizer of a pipeline.config as run, and whether it starts with trained weights."""
    try:
        config = pipeline_config.parse(text)
    except ConfigError:
        return None, False
    train = config.train_config
    return train.optimizer.WhichOneof("optimizer"), bool(train.fine_tune_checkpoint)


def _images(settings: Settings, dataset: str) -> int | None:
    """In the training set; None where the dataset is gone or damaged."""
    try:
        return library.find(settings.datasets_dir, dataset).records
    except (DatasetError, OSError):
        return None
