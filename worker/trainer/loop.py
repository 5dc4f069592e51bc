"""One attempt: build, trace, train, evaluate and export, in this order from top to bottom.

Import this module only after `compat.install()`.
"""

import gc
import time
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import tensorflow as tf

from services.domain.checkpoints.best import Evaluated, value_of
from services.domain.contract import (
    BEST_DIR,
    CHECKPOINTS_DIR,
    EXPORT_DIR,
    SUMMARIES_DIR,
    AttemptSpec,
    DeviceKind,
    EventKind,
    Exported,
    Kept,
    Phase,
    Probe,
    Reason,
)
from services.domain.precision import Precision
from worker.trainer import device, export, model
from worker.trainer.best_checkpoint import BestCheckpoint, best_of_others
from worker.trainer.checkpoints import Checkpoints, newest_step
from worker.trainer.device import Memory
from worker.trainer.evaluation.evaluate import Evaluation
from worker.trainer.failures import AttemptEnd, Stopped, read_exception
from worker.trainer.gpu.compiling import compiling
from worker.trainer.input import pipelines
from worker.trainer.input.pipelines import Feed
from worker.trainer.memory import probe
from worker.trainer.memory.graph_memory import Walk
from worker.trainer.memory.meter import Meter
from worker.trainer.memory.rehearsal import Rehearsal, estimate_memory
from worker.trainer.memory.worst_batch import Batch
from worker.trainer.progress import Progress
from worker.trainer.report import Reporter
from worker.trainer.step import TrainStep
from worker.trainer.stop_signal import StopRequest


class Attempt:
    """One trainer process under one plan."""

    def __init__(
        self, spec: AttemptSpec, config: Any, reporter: Reporter, memory: Memory, progress: Progress, stop: StopRequest
    ) -> None:
        self.spec = spec
        self.config = config
        self.reporter = reporter
        self.memory = memory
        self.progress = progress
        self.stop = stop
        self.job_dir = Path(spec.job_dir)
        self.checkpoints_dir = self.job_dir / CHECKPOINTS_DIR / spec.architecture
        self.batch = config.train_config.batch_size
        self.precision = self._precision()
        self.probe = _within(spec.probe, memory) if spec.probe and memory.is_counted else None
        self.steps = config.train_config.num_steps
        self.walked: Walk | None = None
        self.feed = Feed(device.threads(spec.host), memory.name) if spec.device.kind is DeviceKind.GPU else None
        self.evaluation: Evaluation | None = None  # built when first due, so that it does not delay the first step
        self.evaluated_step: int | None = None
        self.best = BestCheckpoint(self.checkpoints_dir / BEST_DIR, spec.best_metric, reporter)

    def _precision(self) -> Precision:
        """The spec's, or else the config's, whose field then says the same: the OD API's input reads it."""
        configured = Precision.BFLOAT16 if self.config.train_config.use_bfloat16 else Precision.FLOAT32
        precision = self.spec.precision or configured
        self.config.train_config.use_bfloat16 = precision is Precision.BFLOAT16
        return precision

    def run(self) -> None:
        self._build()
        self._start()
        self._train()
        try:
            self._evaluate_at_end()
        finally:  # export the trained model even if its evaluation fails
            self._export()

    def _build(self) -> None:
        self.reporter.phase(Phase.BUILDING)
        self._warn()
        pipelines.check_examples(self.config)
        self._seed()
        self.model = model.build(self.config, is_training=True, precision=self.precision)
        micro_batch = self._first_micro_batch()
        accumulation = self.batch // micro_batch
        self.step = TrainStep(self.config, self.model, accumulation=accumulation, precision=self.precision)
        first_batch = self._trace(micro_batch)
        if self.probe:
            rehearsal = Rehearsal(self.step, first_batch, self._trace, self.reporter, self.memory, self.progress)
            rehearsal.choose_micro_batch(self.probe, self.walked)

    def _first_micro_batch(self) -> int:
        return probe.best_guess(self.probe, self.batch) if self.probe else self.spec.micro_batch or self.batch

    def _seed(self) -> None:
        """Seed by the step to resume from: models and inputs bake the seed in, and the same one would repeat images."""
        tf.keras.utils.set_random_seed(self.spec.seed + newest_step(self.checkpoints_dir))

    def _trace(self, micro_batch: int) -> Batch:
        """Build the input and trace the step for `micro_batch`; returns the first batch. Training will not see it."""
        self.step.split(self.batch // micro_batch)
        self._seed()
        self.iterator = iter(pipelines.training(self.config, self.model, micro_batch, self.feed))
        self.reporter.phase(Phase.TRACING)
        # Fill the readers, decoders and shuffle buffer on the other cores while Python traces.
        warm_up = ThreadPoolExecutor(1).submit(next, self.iterator)
        functions = self.step.trace(self.iterator)
        first_batch: Batch = warm_up.result()
        self.walked = estimate_memory(functions, micro_batch, self.reporter, self.memory)
        if self.walked:
            self.progress.walked_bytes = self.walked.peak_bytes
        return first_batch

    def _warn(self) -> None:
        if self.precision is not Precision.FLOAT32:
            self.reporter.warning(f"activations are in {self.precision}, in training and in evaluation")
        if len(self.config.eval_input_reader) > 1:
            self.reporter.warning("only the first eval_input_reader is evaluated")

    def _start(self) -> None:
        """Resume from the newest checkpoint, else warm-start from `fine_tune_checkpoint`, else start from scratch."""
        self.checkpoints = Checkpoints(
            self.checkpoints_dir, self.step, keep=self.spec.keep_checkpoints, reporter=self.reporter
        )
        resumed = self.checkpoints.resume(self.spec.resume)
        if resumed is not None:
            self.progress.step = self.progress.saved_step = resumed
        elif self.config.train_config.fine_tune_checkpoint:
            model.warm_start(self.model, self.config.train_config)
        if resumed is None:
            self._warn_of_other_best()
        self.reporter.phase(
            Phase.TRAINING,
            step=self.progress.step,
            steps=self.steps,
            resumed=resumed is not None,
            best=self.best.report(),
        )
        self._stop_early()  # if an earlier attempt was about to when it was interrupted

    def _warn_of_other_best(self) -> None:
        for other in best_of_others(self.checkpoints_dir):
            self.reporter.warning(f"{other}; {self.spec.architecture} starts anew, also with its best checkpoint")

    def _train(self) -> None:
        """Train to the last step, or until evaluations gain nothing any more."""
        if self._is_over():
            return
        with tf.summary.create_file_writer(str(self.job_dir / SUMMARIES_DIR / "train")).as_default():
            meter = Meter(self.step, self.steps, self.spec.report_every_s, self.reporter, self.memory)
            last_save = time.monotonic()
            while not self._is_over():
                losses = self.step(self.iterator) if self.progress.runs else self._first_step()
                self.progress.step += 1
                self.progress.runs += self.step.accumulation
                step = self.progress.step
                meter.count(step, losses)
                due = self.stop.asked or time.monotonic() - last_save >= self.spec.checkpoint_every_s
                evaluate = self._evaluation_is_due(step)
                if due or evaluate or step % self.spec.checkpoint_every_steps == 0 or step == self.steps:
                    self._save(meter)
                    last_save = time.monotonic()
                if self.stop.asked and not self.progress.has_unsaved():  # also if the request came during the save
                    raise Stopped(f"stopped on request after step {step}, which was saved")
                if evaluate:
                    self._evaluate_between_steps()
                    self._stop_early()
                    meter.restart()

    def _is_over(self) -> bool:
        return self.progress.step >= self.steps or bool(self.progress.stopped_early)

    def _stop_early(self) -> None:
        """Stop if the evaluation at this step says so. A damaged checkpoint can put training back before the last."""
        rule, history = self.spec.early_stopping, self.best.history
        is_evaluated = history.images == self.progress.step * self.batch
        if rule and is_evaluated and self.progress.step < self.steps and history.ends_training(rule):
            self.progress.stopped_early = history.why_it_ended(rule, self.progress.step, self.steps)
            self.reporter.say(self.progress.stopped_early)

    def _first_step(self) -> Any:
        with compiling(self.reporter, self.memory.is_gpu):
            losses = self.step(self.iterator)
        self.memory.forget_warm_up()
        if self.memory.is_gpu:
            self.reporter.phase(Phase.TRAINING, step=self.progress.step, steps=self.steps)
        return losses

    def _evaluation_is_due(self, step: int) -> bool:
        """Whether to evaluate between steps. `evaluate_at_end` decides about the last step."""
        every = self.spec.evaluate_every_steps
        return bool(self.config.eval_input_reader) and every > 0 and step % every == 0 and step < self.steps

    def _save(self, meter: Meter) -> None:
        """Save a checkpoint; raises an AttemptEnd if weights are not finite, since later attempts would resume them."""
        meter.report()
        if not self.step.weights_are_finite():
            raise AttemptEnd(
                Reason.NAN_LOSS,
                f"weights are no longer finite numbers at step {self.progress.step}: lower the learning rate, or clip "
                f"gradients (train_config.gradient_clipping_by_norm)",
            )
        self.reporter.phase(Phase.SAVING, step=self.progress.step)
        self.progress.saved_step = self.checkpoints.save()
        self.reporter.event(EventKind.CHECKPOINT, step=self.progress.step)
        self.reporter.phase(Phase.TRAINING, step=self.progress.step, steps=self.steps)
        meter.restart()

    def _evaluate_between_steps(self) -> None:
        """Continue training after an error in the evaluation. Running out of memory, disk and the like still raises."""
        try:
            self._evaluate()
        except Exception as error:
            ending = read_exception(error)
            if ending.reason is not Reason.ERROR:
                raise
            traceback.print_exc()
            self.reporter.warning(f"the evaluation at step {self.progress.step} failed: {ending.message}")
        # If memory runs out later, the phase tells the planner that a step did not fit, not the evaluation.
        self.reporter.phase(Phase.TRAINING, step=self.progress.step, steps=self.steps)

    def _evaluate(self) -> None:
        self.evaluation = self.evaluation or Evaluation(
            self.config,
            self.model,
            feed=self.feed,
            samples=self.spec.sample_images,
            reporter=self.reporter,
            memory=self.memory,
        )
        with self._averaged_weights():
            self.progress.metrics = self.evaluation.run(self.progress.step, self._judge)
        self.evaluated_step = self.progress.step
        writer = tf.summary.create_file_writer(str(self.job_dir / SUMMARIES_DIR / "eval"))
        with writer.as_default(step=self.progress.step):
            for name, value in self.progress.metrics.items():
                tf.summary.scalar(name, value)
        writer.close()

    def _judge(self, metrics: Mapping[str, float]) -> dict[str, Any]:
        """Keep the current checkpoint if it is the best one. The weights must be those of the newest checkpoint."""
        value = value_of(metrics, self.spec.best_metric)
        if value is not None and self.checkpoints.path is not None:
            self.best.record(Evaluated(self.progress.step, self.batch, value), self.checkpoints.path)
        elif self.spec.early_stopping:
            self.reporter.warning(
                f"the evaluation at step {self.progress.step} has no {self.spec.best_metric}: "
                f"it does not count for early stopping"
            )
        return {"best": self.best.report()}

    def _evaluate_at_end(self) -> None:
        due = self.config.eval_input_reader and self.spec.evaluate_at_end
        if due and self.evaluated_step != self.progress.step:  # it was, if training has stopped early
            self._evaluate()

    def _export(self) -> None:
        if not self.spec.export:
            return
        self.reporter.phase(Phase.EXPORTING, step=self.progress.step)
        exported = self._load_what_is_exported()
        with self._averaged_weights():
            self.evaluation = None
            gc.collect()
            export.export(self.config, self.model, self.job_dir / EXPORT_DIR)
        self.progress.export, self.progress.exported = EXPORT_DIR, exported

    def _load_what_is_exported(self) -> Exported:
        metric, best, step = self.spec.best_metric, self.best.history.best, self.progress.step
        value = value_of(self.progress.metrics, metric) if self.evaluated_step == step else None
        if self.spec.export_checkpoint is Kept.BEST and best and self.best.path:
            is_current = (best.step, best.batch, best.value) == (step, self.batch, value)
            if is_current or self.checkpoints.load(self.best.path):
                return Exported(Kept.BEST, best.step, metric, best.value)
        return Exported(Kept.LAST, step, None if value is None else metric, value)

    @contextmanager
    def _averaged_weights(self) -> Iterator[None]:
        """Replace the weights by their moving averages inside, if the config has them."""
        if not self.config.train_config.optimizer.use_moving_average:
            yield
            return
        self.step.swap_averages()
        try:
            yield
        finally:
            self.step.swap_averages()


def _within(probe: Probe, memory: Memory) -> Probe:
    """A GPU's limit is what TensorFlow states, not what was planned for."""
    return replace(probe, limit_bytes=memory.limit) if memory.is_gpu and memory.limit else probe
