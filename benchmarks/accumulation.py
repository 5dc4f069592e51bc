"""Compare one step of batch 4 with one of 2 × micro-batch 2, on real models with the same weights and images.

    python benchmarks/accumulation.py

prints |update of the halves - update of the whole| / |update of the whole| over all trained weights. If the loss is a
mean over images and batch normalisation is frozen, only float32 rounding differs. Batch normalisation with batch
statistics uses 2 images instead of 4. EfficientDet divides its loss by the matched anchors of one micro-batch.
"""

import argparse
import itertools
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.pipeline_config import build_config
from worker.attempt_dir import with_dataset

BATCH = 4
EVERYTHING = 100_000  # more than there are anchors, so that the random sample contains all


@dataclass(frozen=True)
class Comparison:
    model: str
    batch_norm: str
    relative_difference: float
    relative_loss_difference: float


def compare_updates(model: str, dataset: Dataset, *, batch_norm: str) -> Comparison:
    """`compat.install()` must have been called. `batch_norm`: "frozen" (two-stage only) or "batch statistics"."""
    import tensorflow as tf

    from worker.trainer import model as models
    from worker.trainer.input import pipelines

    tf.keras.utils.set_random_seed(0)
    config = deterministic_config(model, dataset, batch_norm)
    built = models.build(config, is_training=True)
    images = list(itertools.islice(pipelines.training(config, built, BATCH // 2), 2))
    whole_update, whole_loss = _update(config, built, images, micro_batch=BATCH)
    halves_update, halves_loss = _update(config, built, images, micro_batch=BATCH // 2)
    difference = np.linalg.norm(halves_update - whole_update) / np.linalg.norm(whole_update)
    return Comparison(model, batch_norm, float(difference), abs(halves_loss - whole_loss) / abs(whole_loss))


def deterministic_config(model: str, dataset: Dataset, batch_norm: str) -> Any:
    config = with_dataset(build_config(catalogue.get(model), dataset.num_classes, (256, 256), BATCH, 100), dataset)
    del config.train_config.data_augmentation_options[:]
    config.train_input_reader.shuffle = False
    config.train_input_reader.num_readers = 1
    if config.model.WhichOneof("model") == "faster_rcnn":
        network = config.model.faster_rcnn
        network.feature_extractor.batch_norm_trainable = batch_norm != "frozen"
        network.first_stage_minibatch_size = EVERYTHING
        network.first_stage_max_proposals = network.second_stage_batch_size = 64
        network.second_stage_balance_fraction = 1.0
    return config


def _update(config: Any, model: Any, images: list[Any], *, micro_batch: int) -> tuple[Any, float]:
    """The change of the weights by one step, always from the same weights, and the step's mean loss."""
    import tensorflow as tf

    from worker.trainer.step import TrainStep

    features_and_labels = tf.nest.map_structure(lambda *parts: tf.concat(parts, axis=0), *images)
    dataset = tf.data.Dataset.from_tensor_slices(features_and_labels).repeat().batch(micro_batch, drop_remainder=True)
    iterator = iter(dataset)
    step = TrainStep(config, model, accumulation=BATCH // micro_batch)
    step.trace(iterator)
    before = [variable.numpy() for variable in model.variables]
    losses = step(iterator)
    trained = [variable.numpy() for variable in model.trainable_variables]
    for variable, value in zip(model.variables, before, strict=True):
        variable.assign(value)
    update = [new - old.numpy() for new, old in zip(trained, model.trainable_variables, strict=True)]
    mean_loss = sum(float(loss["Loss/total_loss"]) for loss in losses) / len(losses)
    return np.concatenate([part.ravel() for part in update]), mean_loss


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    from worker.trainer import compat

    compat.install()
    cases = [
        ("faster_rcnn_resnet50_fpn", "frozen"),
        ("faster_rcnn_resnet50_fpn", "batch statistics"),
        ("mask_rcnn_resnet50_fpn", "frozen"),
        ("efficientdet_d0", "batch statistics"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=8, validation=1)
        print(f"{'model':28} {'batch norm':18} {'update differs by':>18} {'loss differs by':>16}")
        for model, batch_norm in cases:
            result = compare_updates(model, dataset, batch_norm=batch_norm)
            figures = f"{result.relative_difference:18.2e} {result.relative_loss_difference:16.2e}"
            print(f"{model:28} {batch_norm:18} {figures}", flush=True)


if __name__ == "__main__":
    main()
