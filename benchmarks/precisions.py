"""How far one training step in bfloat16 and in float16 is from the same step in float32.

    python -m benchmarks.precisions

Computes one update of each family from the same weights and images, on the CPU, where float16 is slow: so the images
are small, and two-stage models have few proposals. The weights were trained in float32 for a few steps: those that a
model starts from have gradients that say little. `update` is the length of the difference of two weight changes,
relative to that of float32's; `cosine` is that of the angle between them; `loss` is relative too. Biases that batch
normalisation cancels are left out: their true gradient is zero, and what is computed is rounding in any precision.
"""

import argparse
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accumulation import deterministic_config
from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain.precision import Precision

SIDE = 128  # pixels, for two-stage models; 256 is the least that EfficientDet takes
IMAGES = 2
PROPOSALS = 16
TRAINED_STEPS = 12
LEARNING_RATE = 0.01
MOST_SKIPPED = 16
_CANCELLED = re.compile(r"(PredictionTower/conv2d_\d+|separable_conv)/bias")
FAMILIES = ("efficientdet_d0", "faster_rcnn_resnet50_fpn", "mask_rcnn_resnet50_fpn")


@dataclass(frozen=True)
class Difference:
    """From the step in float32."""

    precision: Precision
    loss: float
    update: float
    cosine: float
    skipped: int  # updates that were tried at a smaller loss scale


@dataclass(frozen=True)
class _Step:
    loss: float
    update: Any
    skipped: int


def compare_precisions(model: str, dataset: Dataset) -> list[Difference]:
    """`compat.install()` must have been called."""
    import tensorflow as tf

    from worker.trainer import model as models
    from worker.trainer.input import pipelines
    from worker.trainer.step import TrainStep

    config = small_config(model, dataset)
    images: Any = None
    weights: list[Any] = []
    steps = {}
    for precision in (Precision.FLOAT32, Precision.BFLOAT16, Precision.FLOAT16):
        tf.keras.utils.set_random_seed(0)
        built = models.build(config, is_training=True, precision=precision)
        images = images or next(iter(pipelines.training(config, built, IMAGES)))
        iterator = iter(tf.data.Dataset.from_tensors(images).repeat())
        step = TrainStep(config, built, accumulation=1, precision=precision)
        step.trace(iterator)
        weights = weights or _train(step, iterator)
        steps[precision] = _step(step, iterator, weights)
    exact = steps.pop(Precision.FLOAT32)
    return [_difference(precision, step, exact) for precision, step in steps.items()]


def small_config(model: str, dataset: Dataset) -> Any:
    """Small images and few proposals, nothing random, the same learning rate in all steps."""
    config = deterministic_config(model, dataset, batch_norm="frozen")
    network = getattr(config.model, config.model.WhichOneof("model"))
    if hasattr(network, "first_stage_max_proposals"):
        resizer = getattr(network.image_resizer, network.image_resizer.WhichOneof("image_resizer_oneof"))
        resizer.min_dimension = resizer.max_dimension = SIDE
        network.first_stage_max_proposals = network.second_stage_batch_size = PROPOSALS
    rate = config.train_config.optimizer.momentum_optimizer.learning_rate
    rate.constant_learning_rate.learning_rate = LEARNING_RATE
    return config


def _train(step: Any, iterator: Any) -> list[Any]:
    """The model's weights and statistics after some steps; none of the optimizer's."""
    for _ in range(TRAINED_STEPS):
        step(iterator)
    return [variable.numpy() for variable in step.model.variables]


def _step(step: Any, iterator: Any, weights: list[Any]) -> _Step:
    """One applied update from `weights`, without momentum."""
    for variable in step.optimizer.variables():
        variable.assign(np.zeros_like(variable.numpy()))
    for variable, value in zip(step.model.variables, weights, strict=True):
        variable.assign(value)
    compared = [one for one in step.model.trainable_variables if not _CANCELLED.search(one.name)]
    before = [variable.numpy() for variable in compared]
    for _ in range(MOST_SKIPPED):
        skipped = int(step.loss_scale.skipped)
        losses = step(iterator)
        if int(step.loss_scale.skipped) == skipped:
            break
    update = [new.numpy() - old for new, old in zip(compared, before, strict=True)]
    return _Step(float(losses[0]["Loss/total_loss"]), np.concatenate([part.ravel() for part in update]), skipped)


def _difference(precision: Precision, step: _Step, exact: _Step) -> Difference:
    length, exact_length = np.linalg.norm(step.update), np.linalg.norm(exact.update)
    return Difference(
        precision,
        loss=abs(step.loss - exact.loss) / abs(exact.loss),
        update=float(np.linalg.norm(step.update - exact.update) / exact_length),
        cosine=float(step.update @ exact.update / (length * exact_length)),
        skipped=step.skipped,
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # as in a CPU slot: oneDNN has no float16 on every CPU that claims it
    from worker.trainer import compat

    compat.install()
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=8, validation=1)
        print(f"{'model':28} {'precision':10} {'loss':>9} {'update':>9} {'cosine':>9} {'skipped':>8}")
        for model in FAMILIES:
            for found in compare_precisions(model, dataset):
                figures = f"{found.loss:9.2e} {found.update:9.2e} {found.cosine:9.6f} {found.skipped:8}"
                print(f"{model:28} {found.precision:10} {figures}", flush=True)


if __name__ == "__main__":
    main()
