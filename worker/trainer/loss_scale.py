"""Scale the loss of a float16 step, so that small gradients do not round to zero.

Import this module only after `compat.install()`.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

INITIAL = 2.0**15
MINIMUM = 1.0  # at this scale a gradient that is not finite is the model's own, not one of the scale
DOUBLED_AFTER = 2000  # updates in a row that were applied


class LossScale:
    """A power of two that the loss is multiplied with, and its gradients divided by.

    Its variables belong in the checkpoint: a resumed attempt goes on with the same scale. It changes only inside the
    traced step, between updates.
    """

    def __init__(self) -> None:
        self.scale = tf.Variable(INITIAL, trainable=False, dtype=tf.float32, name="loss_scale")
        self.applied = tf.Variable(0, trainable=False, dtype=tf.int64, name="updates_since_scale_changed")
        self.skipped = tf.Variable(0, trainable=False, dtype=tf.int64, name="skipped_updates")

    @property
    def variables(self) -> dict[str, tf.Variable]:
        return {"scale": self.scale, "applied": self.applied, "skipped": self.skipped}

    def is_exhausted(self) -> bool:
        """Whether an update was skipped at the smallest scale."""
        return float(self.scale) < MINIMUM

    def update(self, scaled: list[Any], apply: Callable[[list[Any]], None]) -> None:
        """Call `apply` with the gradients without the scale. If one is not finite, skip that and halve the scale."""
        gradients = [gradient / self.scale for gradient in scaled]
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])
        tf.cond(finite, lambda: self._apply(gradients, apply), self._skip)

    def _apply(self, gradients: list[Any], apply: Callable[[list[Any]], None]) -> None:
        apply(gradients)
        applied = self.applied + 1
        doubles = applied >= DOUBLED_AFTER
        self.scale.assign(tf.where(doubles, 2 * self.scale, self.scale))
        self.applied.assign(tf.where(doubles, tf.zeros_like(applied), applied))

    def _skip(self) -> None:
        self.scale.assign(tf.maximum(self.scale / 2, MINIMUM / 2))
        self.applied.assign(tf.zeros_like(self.applied))
        self.skipped.assign_add(1)
