"""A detection model with two weights that follows the OD API's contract, for results that can be computed by hand.

Import only after `compat.install()`. Its loss is the mean over images of `(a·x + b - 1)²`, x being the image's value.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from object_detection.core import model as od_model

from services.domain import catalogue
from services.domain.pipeline_config import build_config


class TinyDetector(od_model.DetectionModel):
    def __init__(self, extra: int = 0, ballast: int = 0) -> None:
        super().__init__(num_classes=1)
        self.a = tf.Variable(0.5, name="backbone/a")
        self.b = tf.Variable(0.0, name="head/b")
        self.extra = [tf.Variable(1.0, name=f"head/extra{number}") for number in range(extra)]
        self.ballast = tf.Variable(np.ones(ballast, np.float32), name="ballast", trainable=False)  # makes saving slow

    def predict(self, preprocessed_inputs: Any, true_image_shapes: Any, **_: Any) -> dict[str, Any]:
        x = preprocessed_inputs[:, 0, 0, 0]
        a, b = tf.cast(self.a, x.dtype), tf.cast(self.b, x.dtype)
        return {"value": a * x + b + tf.cast(sum(self.extra) * 0.0, x.dtype)}

    def loss(self, prediction_dict: dict[str, Any], true_image_shapes: Any, **_: Any) -> dict[str, Any]:
        return {"Loss/fit": tf.reduce_mean((prediction_dict["value"] - 1.0) ** 2)}

    def regularization_losses(self) -> list[Any]:
        return [0.01 * self.a**2]

    def provide_groundtruth(self, *_: Any, **__: Any) -> None: ...

    def preprocess(self, inputs: Any) -> Any: ...

    def postprocess(self, prediction_dict: Any, true_image_shapes: Any, **_: Any) -> Any: ...

    def restore_map(self, *_: Any, **__: Any) -> Any: ...

    def restore_from_objects(self, fine_tune_checkpoint_type: str = "detection") -> dict[str, Any]:
        return {"model": self}

    def updates(self) -> list[Any]:
        return []


def config(learning_rate: float = 0.1) -> Any:
    """A config whose optimizer is plain momentum at a constant rate."""
    made = build_config(catalogue.get("efficientdet_d0"), 1, (256, 256), 4, 100)
    rate = made.train_config.optimizer.momentum_optimizer.learning_rate
    rate.constant_learning_rate.learning_rate = learning_rate
    made.train_config.unpad_groundtruth_tensors = True
    return made


def batches(values: list[float], micro_batch: int) -> Any:
    """An endless iterator over images of one value each."""
    images = np.array(values, np.float32).reshape(-1, 1, 1, 1)
    count = len(values)
    features = {"image": images, "true_image_shape": np.ones((count, 3), np.int32)}
    labels = {
        "groundtruth_boxes": np.zeros((count, 1, 4), np.float32),
        "groundtruth_classes": np.ones((count, 1, 1), np.float32),
        "num_groundtruth_boxes": np.ones(count, np.int32),
        "groundtruth_weights": np.ones((count, 1), np.float32),
    }
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    return iter(dataset.repeat().batch(micro_batch, drop_remainder=True))
