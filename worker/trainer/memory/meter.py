"""Report training steps as events, log lines and TensorBoard summaries.

Import this module only after `compat.install()`.
"""

import math
import time

import tensorflow as tf

from services.domain.contract import AllocatorStats, EventKind, Reason
from services.domain.sizes import counted, in_mb
from worker.trainer.device import Memory
from worker.trainer.failures import AttemptEnd
from worker.trainer.report import Reporter, host_memory
from worker.trainer.step import Losses, TrainStep


class Meter:
    """Reports a step every `every_s` seconds, not every step.

    Fetching a loss waits for the device, so losses are fetched only for a report.
    """

    def __init__(self, train_step: TrainStep, steps: int, every_s: float, reporter: Reporter, memory: Memory) -> None:
        self._train_step = train_step
        self._steps = steps
        self._every_s = every_s
        self._reporter = reporter
        self._memory = memory
        self._last: tuple[int, list[Losses]] | None = None
        self._reported_step: int | None = None
        self.restart()

    def restart(self) -> None:
        """Measure speed from here: time spent on something other than training does not count."""
        self._since = time.monotonic()
        self._counted = 0
        self._waited = self._train_step.input_wait_s()

    def count(self, step: int, losses: list[Losses]) -> None:
        """Count the finished step `step`; `losses` are those of its micro-batches, not yet fetched from the device."""
        self._last = (step, losses)
        self._counted += 1
        first = self._reported_step is None
        if first or time.monotonic() - self._since >= self._every_s:
            self.report()

    def report(self) -> None:
        """Report the last step, once; raises an AttemptEnd where a loss is not a finite number.

        In float16 the update of such a step was skipped, so that training goes on: it ends when the loss scale has
        reached its minimum.
        """
        if self._last is None or self._last[0] == self._reported_step:
            return
        step, parts = self._last
        losses = {name: sum(float(part[name]) for part in parts) / len(parts) for name in parts[0]}
        elapsed = time.monotonic() - self._since
        bad = [name for name, value in losses.items() if not math.isfinite(value)]
        if bad and not self._train_step.scales_loss:
            raise AttemptEnd(
                Reason.NAN_LOSS,
                f"{bad[0]} became {losses[bad[0]]} at or before step {step}: lower the learning rate, clip gradients "
                f"(train_config.gradient_clipping_by_norm), or check the boxes of the dataset",
            )
        figures = {
            "learning_rate": self._train_step.learning_rate(),
            "images_per_s": round(self._counted * self._train_step.batch / elapsed, 3),
            "step_s": round(elapsed / self._counted, 4),
            "input_wait": round(min(1.0, (self._train_step.input_wait_s() - self._waited) / elapsed), 4),
        }
        if self._train_step.scales_loss:
            figures |= self._scaling(step)
        total = losses["Loss/total_loss"]
        losses = {name: value for name, value in losses.items() if name not in bad}
        counters = self._memory.counters()
        device = {"limit": counters.limit, "current": counters.in_use, "peak": counters.peak}
        host = host_memory()
        self._reporter.event(EventKind.STEP, step=step, losses=losses, **figures, device=device, host=host)
        self._reporter.say(
            f"step {step}/{self._steps}: loss {total:.4f}, "
            f"learning rate {figures['learning_rate']:.3g}, {figures['images_per_s']:.2f} images/s, "
            f"{_memory_text(counters, host['current'])}{_scale_text(figures)}"
        )
        for name, value in {**losses, **figures, "device_memory": counters.in_use or 0}.items():
            tf.summary.scalar(name, value, step=step)
        tf.summary.flush()
        self._reported_step = step
        self.restart()

    def _scaling(self, step: int) -> dict[str, float]:
        scale = self._train_step.loss_scale
        if scale.is_exhausted():
            raise AttemptEnd(
                Reason.NAN_LOSS,
                f"gradients are not finite numbers in float16 at or before step {step}, even without loss scaling "
                f"({counted(int(scale.skipped), 'update')} skipped): lower the learning rate, clip gradients "
                f"(train_config.gradient_clipping_by_norm), check the boxes of the dataset, or keep float32 (leave "
                f"precision out of policy.levers)",
            )
        return {"loss_scale": float(scale.scale), "skipped_updates": int(scale.skipped)}


def _scale_text(figures: dict[str, float]) -> str:
    if not figures.get("skipped_updates"):
        return ""
    return f", {counted(int(figures['skipped_updates']), 'update')} skipped, loss scale {figures['loss_scale']:g}"


def _memory_text(device: AllocatorStats, host: int) -> str:
    if device.in_use is None:
        return f"host memory {in_mb(host)}"
    limit = f" of {in_mb(device.limit)}" if device.limit else ""
    return f"memory {in_mb(device.in_use)}, at most {in_mb(device.peak or 0)}{limit}"
