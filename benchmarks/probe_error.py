"""Compare the prediction after a probe with the peak of the training that follows.

    python benchmarks/probe_error.py --save probes.jsonl    # two minutes a case on two busy cores; continues a run
    python benchmarks/probe_error.py --points               # at once, from benchmarks/probes.jsonl

Each case is a real attempt on a CPU slot with TensorFlow's GPU allocator: its probe, then `STEPS` steps. The law knows
only what the probe measured, as for the first job of a model. `2 steps` and the like: the running peak of training
after that many. `!`: outside the predicted interval. There is no evaluation.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.memory_points import ROOT, SLOT_MB, case
from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import ENOUGH_RUNS, EVENTS_FILE, AttemptSpec, Device, Probe
from services.domain.memory import prior
from services.domain.memory.law import MemoryLaw, Point, Prediction
from services.domain.pipeline_config import apply, build_config
from services.domain.plan.plan import Plan
from worker.attempt_dir import with_dataset, write_attempt

POINTS = Path(__file__).with_name("probes.jsonl")
STEPS = 30
SHOWN = (1, 2, 3, 5, 10, STEPS)
CASES = tuple(
    dataclasses.replace(plan, steps=STEPS)
    for plan in (
        case("efficientdet_d0", 256, 2),
        case("efficientdet_d1", 256, 2),
        case("efficientdet_d0", 256, 4),
        case("faster_rcnn_resnet50_fpn", 256, 1),
    )
)


@dataclass(frozen=True)
class Probed:
    """Bytes. `peaks`: the running peak of training after each step."""

    plan: Plan
    peak: int
    runs: int
    peaks: list[int]

    @classmethod
    def from_json(cls, text: str) -> "Probed":
        values = json.loads(text)
        return cls(**values | {"plan": Plan(**values["plan"])})

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"plan": self.plan.to_dict()})

    @property
    def prediction(self) -> Prediction:
        point = Point.of(self.plan, self.peak, evaluation_bytes=1)  # not evaluated here
        return MemoryLaw([dataclasses.replace(point, brief=self.runs < ENOUGH_RUNS)]).predict(self.plan)


def probed(plan: Plan, dataset: Dataset, home: Path) -> Probed:
    config = build_config(
        catalogue.get(plan.model), dataset.num_classes, plan.image_size, plan.batch_size, plan.steps, plan.learning_rate
    )
    fixed, _, *image = prior.need(dataclasses.replace(plan, micro_batch=1)).training
    spec = AttemptSpec(
        job_dir=str(home / "job"),
        architecture=plan.model,
        micro_batch=plan.micro_batch,
        probe=Probe((plan.micro_batch,), SLOT_MB * 2**20, round(fixed), round(sum(image))),
        device=Device(memory_limit_mb=SLOT_MB),
        report_every_s=0,
        evaluate_at_end=False,
        export=False,
    )
    attempt = write_attempt(home / "attempt", spec, with_dataset(apply(plan, config), dataset))
    subprocess.run([sys.executable, "-m", "worker.trainer", str(attempt)], cwd=ROOT, check=True)
    events: list[dict[str, Any]] = [json.loads(line) for line in (attempt / EVENTS_FILE).read_text().splitlines()]
    [tried] = [point for event in events if event["kind"] == "probe" for point in event["points"]]
    peaks = [event["device"]["peak"] for event in events if event["kind"] == "step"]
    return Probed(plan, tried["peak"], tried["runs"], peaks)


def missing(path: Path) -> Iterator[Probed]:
    there = {result.plan for result in read(path)}
    with tempfile.TemporaryDirectory() as folder:
        dataset = shapes.generate(Path(folder, "shapes"), train=16, validation=2)
        for number, plan in enumerate(CASES):
            if plan not in there:
                yield probed(plan, dataset, Path(folder, str(number)))


def read(path: Path) -> list[Probed]:
    return [Probed.from_json(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(results: list[Probed]) -> None:
    """MB of 10^6 bytes."""
    print(f"{'model':26} {'batch':>5} {'runs':>4} {'predicted':>9} {'interval':>11} {'error':>7}  ", end="")
    print("".join(f"{f'{step} steps':>10}" for step in SHOWN))
    for result in results:
        said, peak = result.prediction, max(result.peaks)
        mark = " " if said.low <= peak <= said.high else "!"
        interval = f"{said.low / 1e6:.0f}-{said.high / 1e6:.0f}"
        print(f"{result.plan.model:26} {result.plan.micro_batch:5} {result.runs:4} {said.bytes / 1e6:9.0f}", end="")
        print(f" {interval:>11} {said.bytes / peak - 1:+7.1%}{mark} ", end="")
        print("".join(f"{max(result.peaks[:step]) / 1e6:10.0f}" for step in SHOWN))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, help="measure what this file does not have, add it, and print from it")
    parser.add_argument("--points", type=Path, nargs="?", const=POINTS, default=POINTS, help="print from this file")
    options = parser.parse_args()
    if options.save:
        for result in missing(options.save):
            with options.save.open("a") as file:
                file.write(result.to_json() + "\n")
    table(read(options.save or options.points))


if __name__ == "__main__":
    main()
