"""Train each family on `shapes` from scratch, and print mAP@0.5 on unseen images and the time.

    python benchmarks/learns.py [--only efficientdet_d0] [--scale 1.0]

Small enough for two CPU cores: images of 256 × 256, a few thousand seen. Adam replaces the catalogue's momentum,
because it needs fewer steps without a checkpoint. There are fewer proposals, because an image has at most six objects.
Everything else is the catalogue's configuration.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import OUTCOME_FILE, AttemptSpec, Device, Outcome
from services.domain.pipeline_config import build_config
from worker.attempt_dir import with_dataset, write_attempt

ROOT = Path(__file__).resolve().parent.parent
TRAIN_IMAGES, VALIDATION_IMAGES = 600, 60


@dataclass(frozen=True)
class Lesson:
    model: str
    batch: int
    steps: int
    learning_rate: float


LESSONS = (
    Lesson("efficientdet_d0", batch=4, steps=800, learning_rate=2e-3),
    Lesson("faster_rcnn_resnet50_fpn", batch=4, steps=400, learning_rate=5e-4),
    Lesson("mask_rcnn_resnet50_fpn", batch=4, steps=400, learning_rate=5e-4),
)


def configure(lesson: Lesson, dataset: Dataset) -> Any:
    config = build_config(catalogue.get(lesson.model), dataset.num_classes, (256, 256), lesson.batch, lesson.steps)
    train = config.train_config
    train.gradient_clipping_by_norm = 10.0
    train.optimizer.adam_optimizer.epsilon = 1e-7
    schedule = train.optimizer.adam_optimizer.learning_rate.cosine_decay_learning_rate
    schedule.learning_rate_base = lesson.learning_rate
    schedule.warmup_learning_rate = lesson.learning_rate / 10
    schedule.warmup_steps = min(30, lesson.steps // 10)
    schedule.total_steps = lesson.steps
    for option in train.data_augmentation_options:
        if option.HasField(
            "random_scale_crop_and_pad_to_square"
        ):  # the zoo's range of 0.1 to 2 is meant for 300 epochs
            option.random_scale_crop_and_pad_to_square.scale_min = 0.8
            option.random_scale_crop_and_pad_to_square.scale_max = 1.25
    if config.model.WhichOneof("model") == "faster_rcnn":
        config.model.faster_rcnn.first_stage_max_proposals = 64
        config.model.faster_rcnn.second_stage_batch_size = 32
    return with_dataset(config, dataset)


def learn(lesson: Lesson, dataset: Dataset, home: Path) -> tuple[Outcome, float]:
    spec = AttemptSpec(
        job_dir=str(home / "job"),
        architecture=lesson.model,
        device=Device(memory_limit_mb=8000),
        evaluate_every_steps=max(1, lesson.steps // 2),
        export=False,
    )
    attempt = write_attempt(home / "attempt", spec, configure(lesson, dataset))
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "worker.trainer", str(attempt)], cwd=ROOT, check=True)
    return Outcome.from_json((attempt / OUTCOME_FILE).read_text()), time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="one of the models")
    parser.add_argument("--scale", type=float, default=1.0, help="train this much longer (or shorter)")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=TRAIN_IMAGES, validation=VALIDATION_IMAGES)
        print(f"{'model':28} {'steps':>6} {'images seen':>12} {'box mAP@.5':>11} {'mask mAP@.5':>12} {'minutes':>8}")
        for lesson in LESSONS:
            if options.only and options.only != lesson.model:
                continue
            lesson = Lesson(lesson.model, lesson.batch, round(lesson.steps * options.scale), lesson.learning_rate)
            outcome, seconds = learn(lesson, dataset, Path(folder, lesson.model))
            boxes = outcome.metrics["DetectionBoxes_Precision/mAP@.50IOU"]
            masks = outcome.metrics.get("DetectionMasks_Precision/mAP@.50IOU")
            figures.append({"model": lesson.model, "boxes": boxes, "masks": masks, "seconds": round(seconds)})
            print(
                f"{lesson.model:28} {outcome.step:6} {outcome.step * lesson.batch:12} {boxes:11.3f} "
                f"{'' if masks is None else f'{masks:.3f}':>12} {seconds / 60:8.1f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
