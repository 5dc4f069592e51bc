"""Build the detection model of a pipeline.config with the OD API, and warm-start it."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from object_detection import model_lib_v2
from object_detection.builders import model_builder
from object_detection.utils import config_util

from services.domain.contract import Reason
from worker.trainer.failures import AttemptEnd, mismatch, read_exception


def build(config: Any, *, is_training: bool) -> Any:
    """The DetectionModel. Its variables are created when it is first traced."""
    # The OD API honours use_bfloat16 on TPUs only. The policy is global, so every build must set it.
    policy = "mixed_bfloat16" if is_training and config.train_config.use_bfloat16 else "float32"
    tf.keras.mixed_precision.set_global_policy(policy)
    try:
        model = model_builder.build(config.model, is_training=is_training, add_summaries=False)
    except (ValueError, TypeError, AttributeError) as error:
        raise AttemptEnd(Reason.BAD_CONFIG, f"the OD API cannot build this model: {error}") from error
    if policy != "float32" and hasattr(model, "_crop_and_resize_fn"):
        model._crop_and_resize_fn = _in_float32(model._crop_and_resize_fn)
    return model


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
