"""A classification checkpoint fills the backbone and nothing else; one of another model is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.domain import catalogue, pipeline_config
from services.domain.contract import Reason
from worker.attempt_dir import with_dataset
from worker.trainer.failures import AttemptEnd

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]


def kernels(variables: Any) -> list[Any]:
    return [variable for variable in variables if "kernel" in variable.name]


def test_a_classification_checkpoint_fills_the_backbone_and_one_of_another_model_is_refused(
    dataset: Any, tmp_path: Path
) -> None:
    import tensorflow as tf

    from tests.support.training.tiny_detector import TinyDetector
    from worker.trainer import model as models
    from worker.trainer.input import pipelines
    from worker.trainer.step import TrainStep

    config = with_dataset(pipeline_config.build_config(catalogue.get("efficientdet_d0"), 3, (256, 256), 1, 10), dataset)
    model = models.build(config, is_training=True)
    TrainStep(config, model, accumulation=1).trace(iter(pipelines.training(config, model, 1)))
    backbone = model._feature_extractor.classification_backbone
    given = [kernel.numpy() for kernel in kernels(backbone.variables)]
    path = tf.train.Checkpoint(feature_extractor=backbone).save(str(tmp_path / "classifier"))
    for variable in model.trainable_variables:
        variable.assign(tf.zeros_like(variable))

    config.train_config.fine_tune_checkpoint = path
    config.train_config.fine_tune_checkpoint_type = "classification"
    models.warm_start(model, config.train_config)

    assert len(given) > 50
    assert all(np.array_equal(k.numpy(), g) for k, g in zip(kernels(backbone.variables), given, strict=True))
    head = [v for v in model.trainable_variables if v.name.startswith("WeightSharedConvolutionalBoxPredictor")]
    assert head
    assert not any(np.any(variable.numpy()) for variable in head)

    classifier = tf.train.Checkpoint(feature_extractor=tf.train.Checkpoint(weight=tf.Variable(1.0)))
    detector = tf.train.Checkpoint(step=tf.Variable(7, dtype=tf.int64), model=TinyDetector())
    for kind, other in (("classification", classifier), ("detection", detector)):
        wrong = other.save(str(tmp_path / kind))
        config.train_config.fine_tune_checkpoint = wrong
        config.train_config.fine_tune_checkpoint_type = kind
        with pytest.raises(AttemptEnd, match=wrong) as raised:
            models.warm_start(model, config.train_config)
        assert raised.value.reason is Reason.BAD_CHECKPOINT
