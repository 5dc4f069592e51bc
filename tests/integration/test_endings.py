"""Ends that only show once TensorFlow is at work."""

from pathlib import Path
from typing import Any

import pytest

from services.datasets.dataset import Dataset
from services.domain import pipeline_config
from services.domain.contract import CHECKPOINTS_DIR, EXIT_CODES, Reason
from tests.trainings import prepare, train


@pytest.fixture(scope="module")
def foreign_checkpoint(tensorflow_ready: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint of another model, as its training loop would write it."""
    import tensorflow as tf

    from tests.tiny_detector import TinyDetector

    folder = tmp_path_factory.mktemp("foreign")
    checkpoint = tf.train.Checkpoint(step=tf.Variable(7, dtype=tf.int64), model=TinyDetector())
    return str(checkpoint.save(str(folder / "ckpt")))


def test_a_loss_that_is_not_a_number_ends_with_that_reason_and_is_not_saved(dataset: Dataset, tmp_path: Path) -> None:
    def change(config: Any) -> None:
        config.train_config.gradient_clipping_by_norm = 0.0
        rate = config.train_config.optimizer.momentum_optimizer.learning_rate
        rate.constant_learning_rate.learning_rate = 1e30

    settings: dict[str, Any] = {"steps": 20, "checkpoint_every_steps": 1, "change": change}
    ended = train(prepare(tmp_path / "attempt", "efficientdet_d0", dataset, **settings))

    assert ended.outcome.reason is Reason.NAN_LOSS, ended.outcome.message
    assert ended.exit_code == EXIT_CODES[Reason.NAN_LOSS]
    assert "learning rate" in ended.outcome.message
    assert (ended.outcome.saved_step or 0) < ended.outcome.step
    assert "Traceback" not in ended.log


def test_a_checkpoint_to_fine_tune_of_another_model_is_refused(
    foreign_checkpoint: str, dataset: Dataset, tmp_path: Path
) -> None:
    def change(config: Any) -> None:
        config.CopyFrom(pipeline_config.set_checkpoint(config, foreign_checkpoint, "detection"))

    ended = train(prepare(tmp_path / "attempt", "efficientdet_d0", dataset, change=change))

    assert ended.outcome.reason is Reason.BAD_CHECKPOINT, ended.outcome.message
    assert ended.exit_code == EXIT_CODES[Reason.BAD_CHECKPOINT]
    assert foreign_checkpoint in ended.outcome.message
    assert "Traceback" not in ended.log
    assert not list((tmp_path / "job" / CHECKPOINTS_DIR).rglob("ckpt-*"))
