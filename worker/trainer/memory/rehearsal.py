"""Measure the memory of the training step before the first real step, and choose the micro-batch by it.

Import this module only after `compat.install()`.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from services.domain.contract import EventKind, Phase, Probe, Reason
from worker.trainer.device import Memory
from worker.trainer.failures import read_exception
from worker.trainer.gpu.compiling import compiling
from worker.trainer.memory import probe, worst_batch
from worker.trainer.memory.graph_memory import Walk, walk
from worker.trainer.memory.worst_batch import Batch
from worker.trainer.progress import Progress
from worker.trainer.report import Reporter
from worker.trainer.step import TrainStep


def estimate_memory(functions: Sequence[Any], micro_batch: int, reporter: Reporter, memory: Memory) -> Walk | None:
    """Estimate the step's memory from its traced graph, without running it.

    Returns None where nothing counts memory, or where the graph cannot be read: that is a warning, not a failure.
    """
    if not memory.is_counted:
        return None
    try:
        return walk(functions, micro_batch, held=memory.counters().in_use or 0, on_gpu=memory.is_gpu)
    except Exception as error:
        reporter.warning(f"the step's graph could not be analysed, so its memory is not estimated: {error}")
        return None


class Rehearsal:
    """Runs the step on the worst input, at one micro-batch after another.

    The step must be traced, and `first_batch` must have as many images as its micro-batch. `trace` traces the step
    for another micro-batch and returns a batch of that many images; it reuses what was traced before.
    """

    def __init__(
        self,
        step: TrainStep,
        first_batch: Batch,
        trace: Callable[[int], Batch],
        reporter: Reporter,
        memory: Memory,
        progress: Progress,
    ) -> None:
        self._step = step
        self._images = first_batch
        self._trace = trace
        self._reporter = reporter
        self._memory = memory
        self._progress = progress
        self._runs: dict[int, int] = {}  # how many micro-batches were computed, by micro-batch size
        self._began = time.monotonic()

    def choose_micro_batch(self, spec: Probe, walked: Walk | None) -> None:
        """Choose by measured peaks. Afterwards the step is traced for the choice, and all variables are as before."""
        batch = self._step.batch
        with self._step.unchanged():
            chosen, points = probe.choose(probe.with_walk(spec, batch, walked), batch, self._peak)
        self._split(chosen)
        self._step.settle()
        self._report(chosen, points, spec.limit_bytes)

    def _peak(self, micro_batch: int) -> int | None:
        """The peak in bytes on the worst input; None where the device runs out of memory."""
        try:
            self._split(micro_batch)
            self._reporter.phase(Phase.PROBING, micro_batch=micro_batch)
            if self._memory.is_gpu:  # the first run chooses algorithms, with scratch memory that later ones do not need
                with compiling(self._reporter, is_gpu=True):
                    self._run()
            return self._memory.peak_of(self._run)
        except Exception as error:
            if read_exception(error).reason is not Reason.DEVICE_MEMORY:
                raise
        gc.collect()  # frees what the failed step still holds
        return None

    def _split(self, micro_batch: int) -> None:
        if micro_batch != self._step.micro_batch:
            self._images = self._trace(micro_batch)

    def _run(self) -> None:
        self._runs[self._step.micro_batch] = self._step.rehearse(worst_batch.endless(self._images))

    def _report(self, chosen: int, points: Mapping[int, int | None], limit: int) -> None:
        self._reporter.event(
            EventKind.PROBE,
            chosen=chosen,
            points=[{"micro_batch": size, "peak": peak, "runs": self._runs.get(size)} for size, peak in points.items()],
            limit=limit,
            seconds=round(time.monotonic() - self._began, 3),
            traces=self._step.traces,
            walked=self._progress.walked_bytes,
        )
