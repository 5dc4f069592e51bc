"""Compare the memory that the walk over the traced graph estimates with the measured peaks of the same plans.

    python benchmarks/memory_points.py --save points.jsonl      # trains: measures the peaks
    python benchmarks/static_walk.py points.jsonl               # traces only: about half a minute a plan

`walk` uses only the graph of the plan itself. `line` uses the graph of the same plan at micro-batch 1, and estimates
the plan's micro-batch from it. `seconds` is the time of the walk, without tracing.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import Device
from services.domain.pipeline_config import apply, build_config
from services.domain.plan.plan import Plan
from worker.attempt_dir import with_dataset
from worker.trainer import device
from worker.trainer.memory.graph_memory import Walk, walk

SLOT_MB = 14_000  # a slot with its own allocator, so that the input pipeline's memory counts as in training


@dataclass(frozen=True)
class Walked:
    plan: Plan
    walk: Walk
    seconds: float


def traced(plan: Plan, dataset: Dataset) -> Walked:
    import tensorflow as tf

    from worker.trainer import model
    from worker.trainer.input import pipelines
    from worker.trainer.step import TrainStep

    def in_use() -> int:
        gc.collect()
        return int(tf.config.experimental.get_memory_info("CPU:0")["current"])

    before = in_use()
    config = build_config(
        catalogue.get(plan.model), dataset.num_classes, plan.image_size, plan.batch_size, plan.steps, plan.learning_rate
    )
    config = with_dataset(apply(plan, config), dataset)
    built = model.build(config, is_training=True)
    step = TrainStep(config, built, accumulation=plan.accumulation)
    iterator = iter(pipelines.training(config, built, plan.micro_batch))
    functions = step.trace(iterator)
    next(iterator)
    held = in_use() - before
    started = time.monotonic()
    found = walk(functions, plan.micro_batch, held=held)
    return Walked(plan, found, time.monotonic() - started)


class Table:
    """Prints a line for each plan; MB of 10^6 bytes."""

    def __init__(self) -> None:
        self._walked: list[float] = []
        self._lined: list[float] = []
        self._ones: dict[Any, Walk] = {}
        print(f"{'model':32} {'image':>5} {'batch':>6} {'boxes':>8}  {'precision':9}", end="")
        print(f"{'peak':>7} {'walk':>7} {'error':>7} {'line':>8} {'seconds':>8}")

    def add(self, walked: Walked, peak: int) -> None:
        plan, found = walked.plan, walked.walk
        error = found.peak_bytes / peak - 1
        self._walked.append(abs(error))
        batch = f"{plan.accumulation}×{plan.micro_batch}"
        boxes = f"{plan.proposals}/{plan.second_stage_batch}" if plan.proposals else ""
        print(f"{plan.model:32} {plan.image_size[0]:5} {batch:>6} {boxes:>8}  {plan.precision:9}", end="")
        print(f"{peak / 1e6:7.0f} {found.peak_bytes / 1e6:7.0f} {error:+7.1%}", end="")
        print(f" {self._line(walked, peak):>8} {walked.seconds:8.1f}", flush=True)

    def _line(self, walked: Walked, peak: int) -> str:
        plan = walked.plan
        others = replace(plan, batch_size=plan.accumulation, micro_batch=1, learning_rate=1.0)
        if plan.micro_batch == 1:
            self._ones[others] = walked.walk
        if plan.micro_batch == 1 or others not in self._ones:
            return ""
        error = self._ones[others].peak_of(plan.micro_batch) / peak - 1
        self._lined.append(abs(error))
        return f"{error:+.1%}"

    def close(self) -> None:
        for name, errors in (("walk", self._walked), ("line from micro-batch 1", self._lined)):
            if errors:
                worst = sorted(errors)[max(0, -(-95 * len(errors) // 100) - 1)]
                print(
                    f"{name}: {len(errors)} plans, {statistics.median(errors):.1%} median, {worst:.1%} 95th percentile"
                )


def main() -> None:
    options = _options()
    device.prepare_environment(Device(memory_limit_mb=SLOT_MB))
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    from worker.trainer import compat

    compat.install()
    points = [json.loads(line) for line in options.points.read_text().splitlines()]
    plans = [(Plan(**point["plan"]), point["peak"]) for point in points]
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=16, validation=2)
        for plan, peak in sorted(plans, key=lambda each: (each[0].model, each[0].micro_batch)):
            if options.only in (None, plan.model):
                table.add(traced(plan, dataset), peak)
    table.close()
    sys.stdout.flush()
    os._exit(0)  # destroying the input pipelines can take minutes


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", type=Path, help="measured points, as benchmarks/memory_points.py saves them")
    parser.add_argument("--only", choices=sorted(catalogue.MODELS), help="one model's points")
    return parser.parse_args()


if __name__ == "__main__":
    main()
