"""One training step: micro-batches, accumulated gradients, one update. Traced once per number of micro-batches."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import tensorflow as tf
from object_detection import model_lib, model_lib_v2
from object_detection.builders import optimizer_builder
from tensorflow.python.ops import resource_variable_ops
from tf_slim import filter_variables

from services.domain.contract import ENOUGH_RUNS, Reason
from services.domain.precision import Precision
from worker.trainer.failures import AttemptEnd
from worker.trainer.loss_scale import LossScale
from worker.trainer.model import set_training

Losses = dict[str, tf.Tensor]

_HOST = "CPU:0"
_REHEARSAL_S = 30.0  # a quarter of it goes to the first micro-batch, when TensorFlow optimises the graph


class TrainStep:
    """`batch = micro_batch × accumulation` images make one update.

    The gradient is the mean over the micro-batches. That equals the gradient of the whole batch if the loss is a mean
    over images (two-stage models). If the loss is normalised over the batch (EfficientDet divides by the number of
    matched anchors), or batch statistics are used, each micro-batch is normalised by itself.

    In float16 the loss is scaled. An update whose gradients are not finite is skipped: weights, optimizer and averages
    stay as they are, while the step counts and the learning rate schedule goes on.
    """

    def __init__(self, config: Any, model: Any, *, accumulation: int, precision: Precision = Precision.FLOAT32) -> None:
        self.model = model
        self.accumulation = accumulation
        self.batch = int(config.train_config.batch_size)  # images per update
        self.global_step = tf.Variable(0, trainable=False, dtype=tf.int64, name="global_step")
        self.scales_loss = precision is Precision.FLOAT16
        self.loss_scale = LossScale()  # kept in every precision, for later attempts in float16
        self.traces = 0
        self._train_config = config.train_config
        self._build_optimizer()
        self._variables: list[tf.Variable] = []
        self._sums: list[tf.Variable] = []
        with tf.device(_HOST):
            self._waited = tf.Variable(0.0, trainable=False, dtype=tf.float64, name="input_wait_s")
        self._functions: dict[int, Any] = {}  # by accumulation
        self._apply = tf.function(self._apply_sums, autograph=False)
        self._finite = tf.function(self._all_finite, autograph=False)

    @property
    def micro_batch(self) -> int:
        return self.batch // self.accumulation

    def trace(self, iterator: Iterator[Any]) -> list[Any]:
        """Build the graphs without running them. This creates all variables (weights, slots, sums).

        Returns the concrete functions that an update runs one after the other.
        """
        traced = [self._function().get_concrete_function(iterator)]
        return traced if self.accumulation == 1 else [*traced, self._apply.get_concrete_function()]

    def __call__(self, iterator: Iterator[Any]) -> list[Losses]:
        """One update; returns the losses of each micro-batch, not yet fetched from the device."""
        step = self._function()
        losses = [step(iterator) for _ in range(self.accumulation)]
        if self.accumulation > 1:
            self._apply()
        return losses

    def rehearse(self, iterator: Iterator[Any]) -> int:
        """Run enough micro-batches to reach the peak memory of training, then one update.

        Returns how many micro-batches ran: ENOUGH_RUNS, or fewer if they are slow, but at least two.
        """
        step = self._function()
        until = time.monotonic() + _REHEARSAL_S
        runs = 0
        while runs < 2 or (runs < ENOUGH_RUNS and time.monotonic() < until):
            float(step(iterator)["Loss/total_loss"])  # waits for the device
            runs += 1
        if self.accumulation > 1:
            self._apply()
        return runs

    def split(self, accumulation: int) -> None:
        """Compute each batch in this many micro-batches from now on. Keeps what was traced for other numbers."""
        self.accumulation = accumulation

    def settle(self) -> None:
        """Release the functions and variables that only other numbers of micro-batches needed."""
        self._functions = {self.accumulation: self._function()}
        if self.accumulation == 1:
            self._sums = []
            self._apply = tf.function(self._apply_sums, autograph=False)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Restore the weights, the optimizer and the step counter afterwards, bit for bit.

        The variables must exist. Their copies are kept in host memory.
        """
        averaged = getattr(self.optimizer, "_optimizer", self.optimizer)  # the one that a moving average wraps
        variables = [*self.model.variables, *self.optimizer.variables(), *averaged.variables()]
        variables += [self.global_step, *self.loss_scale.variables.values()]
        before = [np.array(variable.numpy()) for variable in variables]
        try:
            yield
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable.assign(value)
            for total in self._sums:
                total.assign(tf.zeros_like(total))

    def _function(self) -> Any:
        if self.accumulation not in self._functions:
            body = self._whole_step if self.accumulation == 1 else self._micro_step
            self._functions[self.accumulation] = tf.function(body, autograph=False)
        return self._functions[self.accumulation]

    def learning_rate(self) -> float:
        rate = self._learning_rate
        return float(rate() if callable(rate) else rate)

    def input_wait_s(self) -> float:
        """The seconds that all micro-batches so far waited for their images. Does not wait for a GPU."""
        return float(self._waited)

    def weights_are_finite(self) -> bool:
        return bool(self._finite())

    def _all_finite(self) -> tf.Tensor:
        return tf.reduce_all([tf.reduce_all(tf.math.is_finite(v)) for v in self.model.trainable_variables])

    def swap_averages(self) -> None:
        """Swap the weights with their moving averages. A second call restores them bit for bit."""
        for variable in self.optimizer._model_weights:
            average = self.optimizer.get_slot(variable, "average")
            weight = variable.read_value()
            variable.assign(average)
            average.assign(weight)

    def _build_optimizer(self) -> None:
        try:
            self.optimizer, (self._learning_rate,) = optimizer_builder.build(
                self._train_config.optimizer, global_step=self.global_step
            )
        except ValueError as error:
            raise AttemptEnd(Reason.BAD_CONFIG, f"train_config.optimizer: {error}") from error
        if self._train_config.optimizer.HasField("rms_prop_optimizer"):
            # The OD API passes RMSprop's decay to Keras as learning rate decay, which soon shrinks the rate to nothing.
            rms_prop = getattr(self.optimizer, "_optimizer", self.optimizer)
            rms_prop._initial_decay = 0.0
            rms_prop._set_hyper("decay", 0.0)
            rms_prop._set_hyper("rho", self._train_config.optimizer.rms_prop_optimizer.decay)

    def _next(self, iterator: Iterator[Any]) -> Any:
        """The next micro-batch. The graph itself measures the wait for it: Python does not see inside a step."""
        with tf.device(_HOST):
            asked = tf.timestamp()
        with tf.control_dependencies([asked]):
            batch = next(iterator)
        with tf.control_dependencies(tf.nest.flatten(batch)), tf.device(_HOST):
            self._waited.assign_add(tf.timestamp() - asked)
        return batch

    def _whole_step(self, iterator: Iterator[Any]) -> Losses:
        with _variables_made_eagerly():
            gradients, losses = self._gradients(*self._next(iterator))
            self._update(gradients)
        return losses

    def _micro_step(self, iterator: Iterator[Any]) -> Losses:
        with _variables_made_eagerly():
            gradients, losses = self._gradients(*self._next(iterator))
            self._sums = self._sums or [
                tf.Variable(lambda v=v: tf.zeros(v.shape, v.dtype), trainable=False) for v in self._variables
            ]
        for total, gradient in zip(self._sums, gradients, strict=True):
            total.assign_add(gradient / self.accumulation)
        return losses

    def _apply_sums(self) -> None:
        with _variables_made_eagerly():
            self._update([total.read_value() for total in self._sums])
        for total in self._sums:
            total.assign(tf.zeros_like(total))

    def _gradients(self, features: dict[str, tf.Tensor], labels: dict[str, tf.Tensor]) -> tuple[list[Any], Losses]:
        self.traces += 1
        set_training(self.model, True)
        config = self._train_config
        labels = model_lib.unstack_batch(labels, unpad_groundtruth_tensors=config.unpad_groundtruth_tensors)
        with tf.GradientTape() as tape:
            losses, _ = model_lib_v2._compute_losses_and_predictions_dicts(
                self.model,
                features,
                labels,
                training_step=self.global_step,
                add_regularization_loss=config.add_regularization_loss,
            )
            total = losses["Loss/total_loss"]
            if self.scales_loss:
                total = total * self.loss_scale.scale
        self._variables = self._chosen_variables()
        return tape.gradient(total, self._variables, unconnected_gradients="zero"), losses

    def _chosen_variables(self) -> list[tf.Variable]:
        """The trainable variables without `freeze_variables`, which the OD API's TF2 loop ignores."""
        config = self._train_config
        chosen = filter_variables(
            self.model.trainable_variables,
            include_patterns=list(config.update_trainable_variables) or None,
            exclude_patterns=list(config.freeze_variables) or None,
        )
        if not chosen:
            raise AttemptEnd(Reason.BAD_CONFIG, "train_config.freeze_variables: nothing is left to train")
        return list(chosen)

    def _update(self, gradients: list[Any]) -> None:
        self._create_averages()
        if self.scales_loss:
            self.loss_scale.update(gradients, self._apply_gradients)
        else:
            self._apply_gradients(gradients)
        self.global_step.assign_add(1)

    def _apply_gradients(self, gradients: list[Any]) -> None:
        if self._train_config.gradient_clipping_by_norm > 0:
            gradients, _ = tf.clip_by_global_norm(gradients, self._train_config.gradient_clipping_by_norm)
        self.optimizer.apply_gradients(zip(gradients, self._variables, strict=True))

    def _create_averages(self) -> None:
        if self._train_config.optimizer.use_moving_average and not self.optimizer.has_shadow_copy:
            self.optimizer.shadow_copy(self.model)


_VARIABLE_ARGUMENTS = ("initial_value", "trainable", "name", "dtype", "constraint", "synchronization", "aggregation")


def _variables_made_eagerly() -> AbstractContextManager[None]:
    """Create the variables that a traced function creates outside of its graph.

    `tf.function` traces a second time if the first trace created variables. That would cost half a minute for nothing:
    weights and slots are created once, by the first trace.
    """

    def make(next_creator: Any, **arguments: Any) -> tf.Variable:
        with tf.init_scope():
            return resource_variable_ops.ResourceVariable(
                **{name: arguments[name] for name in _VARIABLE_ARGUMENTS if name in arguments},
                shape=arguments.get("shape"),
            )

    scope: AbstractContextManager[None] = tf.variable_creator_scope(make)
    return scope
