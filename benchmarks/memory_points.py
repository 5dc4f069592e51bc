"""Compare the memory law's predictions for plans that were never run with what the trainer then needs.

    python benchmarks/memory_points.py                               # about 16 minutes on two cores
    python benchmarks/memory_points.py --only efficientdet_d0 --save points.jsonl
    python benchmarks/memory_points.py --points points.jsonl         # the same table from what was saved, at once

Each case is a real attempt of a few steps and one evaluation on a CPU slot with TensorFlow's GPU allocator. `law` is
the prediction from the catalogue alone, `scaled` is the error of the prediction with the first case of that model and
precision as the only measured point. The catalogue's priors were fitted to `CASES`. `UNSEEN`, the last five lines, were
run afterwards and changed no prior.
"""

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import OUTCOME_FILE, AttemptSpec, Device, Outcome
from services.domain.memory.law import MemoryLaw, Point
from services.domain.pipeline_config import apply, build_config, plan_of
from services.domain.plan.plan import Plan
from worker.attempt_dir import with_dataset, write_attempt

ROOT = Path(__file__).resolve().parent.parent
SLOT_MB = 14_000
STEPS = 10  # the peak is the largest of these steps; after three it was still growing


def case(model: str, side: int, micro_batch: int, accumulation: int = 1, **changes: Any) -> Plan:
    config = build_config(catalogue.get(model), 4, (side, side), micro_batch * accumulation, STEPS)
    return dataclasses.replace(plan_of(config, micro_batch), **changes)


CASES = (
    case("efficientdet_d0", 256, 1),
    case("efficientdet_d0", 256, 2),
    case("efficientdet_d0", 256, 4),
    case("efficientdet_d0", 384, 2),
    case("efficientdet_d0", 256, 2, accumulation=2),
    case("efficientdet_d0", 256, 2, precision="bfloat16"),
    case("faster_rcnn_resnet50_fpn", 256, 1),
    case("faster_rcnn_resnet50_fpn", 256, 2),
    case("faster_rcnn_resnet50_fpn", 320, 1),
    case("faster_rcnn_resnet50_fpn", 256, 1, accumulation=2),
    case("faster_rcnn_resnet50_fpn", 256, 2, proposals=64, second_stage_batch=32),
    case("mask_rcnn_resnet50_fpn", 256, 1),
    case("mask_rcnn_resnet50_fpn", 256, 2),
    case("mask_rcnn_resnet50_fpn", 384, 1),
    case("faster_rcnn_resnet50", 256, 1),
    case("faster_rcnn_resnet50", 256, 2),
    case("faster_rcnn_resnet50", 384, 1),
    case("faster_rcnn_resnet101_fpn", 256, 1),
    case("efficientdet_d1", 256, 2),
    case("efficientdet_d2", 256, 2),
    case("efficientdet_d4", 256, 1),
    case("mask_rcnn_resnet50", 256, 1),
    case("mask_rcnn_resnet50", 256, 1, proposals=64, second_stage_batch=32),
    case("faster_rcnn_inception_resnet_v2", 256, 1),
)
UNSEEN = (
    case("efficientdet_d0", 512, 4),
    case("faster_rcnn_resnet50_fpn", 512, 2),
    case("faster_rcnn_resnet101", 256, 2),
    case("efficientdet_d3", 384, 1),
    case("mask_rcnn_resnet101_fpn", 320, 1),
)


@dataclass(frozen=True)
class Measured:
    """Bytes. `held`: in use between steps: weights, the optimizer's slots, sums of gradients."""

    plan: Plan
    peak: int
    evaluation_peak: int | None
    held: int
    seconds: float
    software: str = ""
    date: str = ""

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self) | {"plan": self.plan.to_dict()})

    @classmethod
    def from_json(cls, text: str) -> "Measured":
        values = json.loads(text)
        return cls(**values | {"plan": Plan(**values["plan"])})


def measure(plan: Plan, dataset: Dataset, home: Path, *, evaluate: bool = True) -> Measured:
    """Train and evaluate `plan` in its own process. Raises if that fails."""
    config = build_config(
        catalogue.get(plan.model), dataset.num_classes, plan.image_size, plan.batch_size, plan.steps, plan.learning_rate
    )
    spec = AttemptSpec(
        job_dir=str(home / "job"),
        architecture=plan.model,
        micro_batch=plan.micro_batch,
        device=Device(memory_limit_mb=SLOT_MB),
        sample_images=0,
        evaluate_at_end=evaluate,
        export=False,
    )
    attempt = write_attempt(home / "attempt", spec, with_dataset(apply(plan, config), dataset))
    started = time.monotonic()
    command = [sys.executable, "-m", "worker.trainer", str(attempt)]
    run = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    outcome = Outcome.from_json((attempt / OUTCOME_FILE).read_text())
    memory = outcome.allocator
    if run.returncode or memory.peak is None or memory.in_use is None:
        raise RuntimeError(f"{plan}: {outcome.message}")
    seconds = time.monotonic() - started
    software = f"tensorflow {importlib.metadata.version('tensorflow')}"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Measured(plan, memory.peak, memory.evaluation_peak, memory.in_use, seconds, software, today)


def measured(plans: Iterable[Plan]) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=16, validation=2)
        for number, plan in enumerate(plans):
            yield measure(plan, dataset, Path(folder, str(number)))


class Table:
    """Prints a line for each case; MB of 10^6 bytes, errors in per cent of the measured value."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], Point] = {}
        self._errors: list[float] = []
        self._inside = 0
        print(f"{'model':32} {'image':>5} {'batch':>6} {'boxes':>8}  {'precision':9}", end="")
        print(f"{'train':>7} {'eval':>6} {'law':>7} {'error':>7}  inside {'scaled':>8}")

    def add(self, result: Measured) -> None:
        plan, peak = result.plan, max(result.peak, result.evaluation_peak or 0)
        law = MemoryLaw().predict(plan)
        error, is_inside = law.bytes / peak - 1, law.low <= peak <= law.high
        self._errors.append(abs(error))
        self._inside += is_inside
        batch = f"{plan.accumulation}×{plan.micro_batch}"
        boxes = f"{plan.proposals}/{plan.second_stage_batch}" if plan.proposals else ""
        print(f"{plan.model:32} {plan.image_size[0]:5} {batch:>6} {boxes:>8}  {plan.precision:9}", end="")
        print(f"{result.peak / 1e6:7.0f} {(result.evaluation_peak or 0) / 1e6:6.0f} {law.bytes / 1e6:7.0f}", end="")
        print(f" {error:+7.1%}  {'yes' if is_inside else 'NO':6} {self._scaled(result, peak):>8}", flush=True)

    def _scaled(self, result: Measured, peak: int) -> str:
        """The error of a law that knows only the first case of this model and precision."""
        key = (result.plan.model, result.plan.precision)
        first = self._first.get(key)
        if first is None:
            self._first[key] = Point.of(result.plan, result.peak, evaluation_bytes=result.evaluation_peak)
            return ""
        return f"{MemoryLaw([first]).predict(result.plan).bytes / peak - 1:+.1%}"

    def close(self) -> None:
        errors = sorted(self._errors)
        print(f"{len(errors)} cases, {self._inside} inside the interval that was promised;", end=" ")
        print(f"error of the law: {errors[len(errors) // 2]:.1%} median, {errors[-1]:.1%} at worst")


def main() -> None:
    options = _options()
    chosen = [plan for plan in CASES + UNSEEN if options.only in (None, plan.model)]
    saved = [Measured.from_json(line) for line in options.points.read_text().splitlines()] if options.points else None
    table = Table()
    for result in saved or measured(chosen):
        table.add(result)
        if options.save:
            with options.save.open("a") as file:
                file.write(result.to_json() + "\n")
    table.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted({plan.model for plan in CASES + UNSEEN}), help="one model's cases")
    parser.add_argument("--save", type=Path, help="a file to add the measured points to, one JSON object a line")
    parser.add_argument("--points", type=Path, help="measured points to compare with, instead of training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
