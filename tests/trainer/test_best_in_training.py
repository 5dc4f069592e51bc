"""A real training: the best checkpoint is kept, training stops early, and the best one is exported."""

from pathlib import Path
from typing import Any

import pytest

from services.datasets.dataset import Dataset
from services.domain.contract import (
    BEST_DIR,
    CHECKPOINTS_DIR,
    EXPORT_DIR,
    BestMetric,
    EarlyStopping,
    Exported,
    Kept,
    Reason,
)
from tests.support.training.trainings import plain_python, prepare, train

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(900)]

MODEL = "efficientdet_d0"
STEPS = 20
RULE = EarlyStopping(patience=2, min_gain=0.5)  # more than a training of seconds gains

# Runs without our code: prints which of the checkpoints has the weights of the first one, all of them and exactly.
COMPARE = """
import json, sys
import numpy as np, tensorflow as tf
def weights(path):
    reader = tf.train.load_checkpoint(path)
    names = [n for n in reader.get_variable_to_shape_map() if n.startswith("model/") and "OPTIMIZER_SLOT" not in n]
    return {n: reader.get_tensor(n) for n in names if n.endswith("VARIABLE_VALUE")}
exported, *others = [weights(path) for path in sys.argv[1:]]
common = set.intersection(*(set(found) for found in (exported, *others)))  # TensorFlow counts calls in one more
same = [all(np.array_equal(other[n], exported[n]) for n in common) for other in others]
print(json.dumps({"weights": len(common), "same": same}))
"""


def hardly_learning(config: Any) -> None:
    """Detections, and so the results, stay as they are at the start. The weights do change.

    So that some of the detections hit, they lie all over the image, and the training images, of which there are more,
    are evaluated.
    """
    files = config.train_input_reader.tf_record_input_reader.input_path
    config.eval_input_reader[0].tf_record_input_reader.input_path[:] = files
    config.model.ssd.freeze_batchnorm = True
    suppression = config.model.ssd.post_processing.batch_non_max_suppression
    suppression.iou_threshold, suppression.max_total_detections = 0.3, 300
    rate = config.train_config.optimizer.momentum_optimizer.learning_rate
    rate.constant_learning_rate.learning_rate = 1e-6


def test_the_best_checkpoint_is_kept_training_stops_early_and_the_best_is_exported(
    dataset: Dataset, tmp_path: Path
) -> None:
    attempt = prepare(
        tmp_path / "attempt-1",
        MODEL,
        dataset,
        steps=STEPS,
        change=hardly_learning,
        sample_images=0,
        evaluate_every_steps=1,
        keep_checkpoints=1,
        best_metric=BestMetric.AR_100,
        early_stopping=RULE,
    )
    ended = train(attempt)
    outcome, evaluations = ended.outcome, ended.of_kind("eval")
    values = [event["metrics"]["DetectionBoxes_Recall/AR@100"] for event in evaluations]
    best = values.index(max(values)) + 1  # the first of them, and evaluations come at each step
    assert (best, outcome.step) == (1, 3)
    assert (ended.exit_code, outcome.reason) == (0, Reason.COMPLETED)
    assert outcome.stopped_early
    assert outcome.message == (
        f"stopped early at step 3 of {STEPS}: AR100 has not gained 0.5 in 2 evaluations; best {values[0]:.4g} at step 1"
    )
    assert [(event["best"]["step"], event["best"]["value"]) for event in evaluations] == [(1, values[0])] * 3
    assert outcome.exported == Exported(Kept.BEST, 1, BestMetric.AR_100, values[0])

    job = tmp_path / "job"
    checkpoints = job / CHECKPOINTS_DIR / MODEL
    assert [file.name for file in checkpoints.glob("*.index")] == ["ckpt-3.index"]
    paths = (job / EXPORT_DIR / "checkpoint" / "ckpt-0", checkpoints / BEST_DIR / "ckpt-1", checkpoints / "ckpt-3")
    compared = plain_python(COMPARE, *map(str, paths))
    assert compared["weights"] > 500
    assert compared["same"] == [True, False]
