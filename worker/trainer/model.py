"""Build the detection model of a pipeline.config with the OD API, and warm-start it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import tensorflow as tf
from object_detection import model_lib_v2
from object_detection.builders import model_builder
from object_detection.utils import config_util

from services.domain.contract import Reason
from services.domain.precision import Precision
from worker.trainer.failures import AttemptEnd, mismatch, read_exception


def build(config: Any, *, is_training: bool, precision: Precision = Precision.FLOAT32) -> Any:
    """The DetectionModel, whose activations are in `precision`. Its variables are created when it is first traced."""
    # The policy is global, so every build must set it.
    policy = "float32" if precision is Precision.FLOAT32 else f"mixed_{precision}"
    tf.keras.mixed_precision.set_global_policy(policy)
    try:
        model = model_builder.build(config.model, is_training=is_training, add_summaries=False)
    except (ValueError, TypeError, AttributeError) as error:
        raise AttemptEnd(Reason.BAD_CONFIG, f"the OD API cannot build this model: {error}") from error
    if precision is not Precision.FLOAT32:
        compute_in(model, precision)
    return model


def compute_in(model: Any, precision: Precision) -> None:
    """Make the model predict from images in a two-byte `precision`. Its predictions are float32."""
    model.predict = _predict_in(precision, model.predict)
    if hasattr(model, "_crop_and_resize_fn"):
        model._crop_and_resize_fn = _in_float32(model._crop_and_resize_fn)


def _predict_in(precision: Precision, predict: Callable[..., Any]) -> Callable[..., Any]:
    """Cast the images to `precision` and the predictions back. The OD API does the second for bfloat16 only."""

    def predicted(images: tf.Tensor, *arguments: Any, **named: Any) -> Any:
        with _finite_statistics() if precision is Precision.FLOAT16 else nullcontext():
            predictions = predict(tf.cast(images, precision), *arguments, **named)
        return tf.nest.map_structure(_as_float32, predictions)

    return predicted


def _as_float32(value: Any) -> Any:
    is_half = tf.is_tensor(value) and value.dtype in (tf.float16, tf.bfloat16)
    return tf.cast(value, tf.float32) if is_half else value


@contextmanager
def _finite_statistics() -> Iterator[None]:
    """Trace batch normalisation so that it keeps its moving statistics where those of a batch are not finite.

    An activation beyond float16's 65,504 is infinite. The update of such a batch is skipped, but the statistics are
    updated before that is known.
    """
    layer = next(kind for kind in tf.keras.layers.BatchNormalization.__mro__ if "_assign_new_value" in vars(kind))
    assign, average = layer._assign_new_value, layer._assign_moving_average

    def finite(variable: tf.Variable, value: tf.Tensor) -> tf.Tensor:
        return tf.where(tf.math.is_finite(value), value, variable)

    layer._assign_new_value = lambda self, old, new: assign(self, old, finite(old, new))
    layer._assign_moving_average = lambda self, old, new, *rest: average(self, old, finite(old, new), *rest)
    try:
        yield
    finally:
        layer._assign_new_value, layer._assign_moving_average = assign, average


def _in_float32(crop: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
    """Cast around the crop: TensorFlow's operation supports only float32."""

    def cropped(features: list[tf.Tensor], *arguments: Any) -> tf.Tensor:
        floats = [tf.cast(level, tf.float32) for level in features]
        return tf.cast(crop(floats, *arguments), features[0].dtype)

    return cropped


def set_training(model: Any, is_training: bool) -> None:
    """Call before tracing a function of the model, as the OD API's own loops do."""
    model._is_training = is_training
    tf.compat.v1.keras.backend.set_learning_phase(is_training)


def warm_start(model: Any, train_config: Any) -> None:
    """Load `fine_tune_checkpoint` into the model, whose variables must exist. Raises an AttemptEnd unless all match."""
    path = train_config.fine_tune_checkpoint
    config_util.update_fine_tune_checkpoint_type(train_config)
    kind = train_config.fine_tune_checkpoint_type
    try:
        model_lib_v2.load_fine_tune_checkpoint(
            model, path, kind, train_config.fine_tune_checkpoint_version, False, None, False
        )
    except (AssertionError, ValueError, TypeError, OSError, tf.errors.OpError) as error:
        if read_exception(error).reason in (Reason.DEVICE_MEMORY, Reason.HOST_MEMORY):
            raise
        raise AttemptEnd(
            Reason.BAD_CHECKPOINT,
            f"the checkpoint {path!r} does not fit this model as a {kind!r} checkpoint ({mismatch(error)}): use one of "
            f"the same backbone, or none",
        ) from None
