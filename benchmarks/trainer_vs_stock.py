"""Compare our trainer with the Object Detection API's own `train_loop`: images/s, and time to the first step.

Both train the same pipeline.config on the same data, each in its own process, with the same compat module, device
settings and threads, without evaluation or export. Runs alternate (stock, ours, ours, stock, …), so that a change of
the machine's speed favours neither.

    python benchmarks/trainer_vs_stock.py                                    # 6 to 8 minutes on two cores
    python benchmarks/trainer_vs_stock.py --model faster_rcnn_resnet50_fpn --batch-size 2 --repeats 4

What is measured
  first step  from the start of the process until the first update of the weights is done.
              Ours: the first `step` event. Stock: it reports nothing before its first call of `--stock-iteration`
              steps ends, so the graph prints a time stamp after each step's update (one `tf.print`, microseconds). Its
              own first report is shown too, and its estimate for the default of 100 steps a call.
  images/s    over the same steps of both, from the end of `--warm-up` steps to the last one.
Stock runs without image and histogram summaries (`record_summaries`) and without a distribution strategy, which its
command line would use even for one device. Each saves one checkpoint: stock before its first step, which is part of
that time, ours after the last, which is in neither number. Ours writes its events and summaries every two seconds, as
always.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import CONFIG_FILE, EVENTS_FILE, LOG_FILE, SPEC_FILE, AttemptSpec, Device
from services.domain.pipeline_config import build_config
from worker.attempt_dir import with_dataset, write_attempt

ROOT = Path(__file__).resolve().parent.parent
RATE_GOAL = 1.0  # ours / stock, at least
FIRST_STEP_GOAL = 0.45  # ours / stock, at most
STOCK_DEFAULT_ITERATION = 100
STAMPS_FILE = "stamps.txt"
NEVER = 10**9


@dataclass
class Run:
    """One process. `steps`: the seconds from the start of the process to the end of each step, by its number."""

    trainer: str
    steps: dict[int, float]
    phases: dict[str, float]  # seconds of each, up to the first step

    @property
    def first_step(self) -> float:
        return self.steps[1]

    def images_per_s(self, first: int, last: int, batch: int) -> float:
        """The rate over the steps after `first`, up to `last`."""
        return (last - first) * batch / (self.steps[last] - self.steps[first])


@dataclass
class Pair:
    """One repeat: a run of each trainer."""

    stock: Run
    ours: Run

    def window(self, warm_up: int) -> tuple[int, int]:
        """The first and last step of the timed range. Chosen from ours, which reports every two seconds only."""
        reported = [step for step in self.ours.steps if step >= warm_up]
        if len(reported) < 2:
            sys.exit(f"ours took under two seconds for the steps after the first {warm_up}: give more --steps")
        return min(reported), max(reported)

    def rate_ratio(self, warm_up: int) -> float:
        first, last = self.window(warm_up)
        return self.ours.images_per_s(first, last, 1) / self.stock.images_per_s(first, last, 1)

    def stock_first_report(self, iteration: int, warm_up: int) -> float:
        """The seconds until stock's first call would return with that many steps."""
        first, last = self.window(warm_up)
        return self.stock.first_step + (iteration - 1) / self.stock.images_per_s(first, last, 1)


def main() -> int:
    if sys.argv[1:2] == ["--stock"]:
        return train_stock(Path(sys.argv[2]), iteration=int(sys.argv[3]))
    options = _options()
    warm_disk_cache()
    with tempfile.TemporaryDirectory(prefix="trainer-vs-stock-") as folder:
        pairs = [measure(number, Path(folder), options) for number in range(options.repeats)]
    report(pairs, options)
    if options.json:
        options.json.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")
    return 0


def warm_disk_cache() -> None:
    """Read the libraries once, so that the first process, which is stock's, is not slower."""
    imports = "from worker.trainer import compat; compat.install(); import object_detection.model_lib_v2"
    subprocess.run([sys.executable, "-c", imports], cwd=ROOT, stderr=subprocess.DEVNULL, check=True)


def measure(number: int, folder: Path, options: argparse.Namespace) -> Pair:
    order = ("stock", "ours") if number % 2 == 0 else ("ours", "stock")
    return Pair(**{trainer: run(trainer, number, folder, options) for trainer in order})


def run(trainer: str, number: int, folder: Path, options: argparse.Namespace) -> Run:
    attempt = make_attempt(folder, f"{number}-{trainer}", options)
    ours = [sys.executable, "-m", "worker.trainer", str(attempt)]
    stock = [sys.executable, __file__, "--stock", str(attempt), str(options.stock_iteration)]
    started = time.time()
    with (attempt / "console.txt").open("w") as console:
        status = subprocess.run(ours if trainer == "ours" else stock, cwd=ROOT, stdout=console, stderr=console)
    if status.returncode:
        log = attempt / (LOG_FILE if trainer == "ours" else "console.txt")
        sys.exit(f"{trainer} failed with {status.returncode}:\n{log.read_text(errors='replace')[-3000:]}")
    finished = read_events(attempt, started) if trainer == "ours" else read_stamps(attempt, started)
    print(f"{trainer}: first step after {finished.first_step:.1f} s", file=sys.stderr, flush=True)
    return finished


def make_attempt(folder: Path, name: str, options: argparse.Namespace) -> Path:
    """Write an attempt directory. Both trainers read its pipeline.config, ours its attempt.json too."""
    data = folder / "shapes"
    size = (options.image_size, options.image_size)
    dataset = Dataset.load(data) if data.exists() else shapes.generate(data, train=64, validation=4, size=size)
    model = catalogue.get(options.model)
    config = build_config(model, dataset.num_classes, size, options.batch_size, options.steps)
    spec = AttemptSpec(
        job_dir=str(folder / f"{name}-job"),
        architecture=options.model,
        device=Device(memory_limit_mb=options.slot_mb),
        checkpoint_every_steps=NEVER,
        checkpoint_every_s=NEVER,
        evaluate_at_end=False,
        export=False,
    )
    return write_attempt(folder / name, spec, with_dataset(config, dataset))


def read_events(attempt: Path, started: float) -> Run:
    """Our steps. Only the reported ones are known: the first, the last, and one every two seconds."""
    events = [json.loads(line) for line in (attempt / EVENTS_FILE).read_text().splitlines()]
    steps = {event["step"]: event["time"] - started for event in events if event["kind"] == "step"}
    marks = [("interpreter", 0.0)]
    marks += [(event["phase"], event["time"] - started) for event in events if event["kind"] == "phase"]
    marks = [mark for mark in marks if mark[1] < steps[1]] + [("", steps[1])]
    return Run("ours", steps, durations(marks))


def read_stamps(attempt: Path, started: float) -> Run:
    """Stock's time stamps: the end of the imports, then of every step."""
    imported, *ends = (float(stamp) - started for stamp in (attempt / STAMPS_FILE).read_text().split())
    steps = dict(enumerate(ends, start=1))
    return Run("stock", steps, durations([("importing", 0.0), ("the rest", imported), ("", steps[1])]))


def durations(marks: list[tuple[str, float]]) -> dict[str, float]:
    """The seconds of each phase from the times at which they begin; the last mark only ends the one before it."""
    return {name: after - begin for (name, begin), (_, after) in pairwise(marks)}


def train_stock(attempt: Path, iteration: int) -> int:
    """In its own process: the OD API's `train_loop`, unchanged except for the time stamps."""
    from worker.trainer import compat, device

    device.prepare_environment(AttemptSpec.from_json((attempt / SPEC_FILE).read_text()).device)
    compat.install()
    import tensorflow as tf
    from object_detection import model_lib_v2

    stamps = attempt / STAMPS_FILE
    stamps.write_text(f"{time.time():.3f}\n")
    eager_train_step = model_lib_v2.eager_train_step

    def stamped(*args: Any, **kwargs: Any) -> Any:
        losses = eager_train_step(*args, **kwargs)
        operations = tf.compat.v1.get_default_graph().get_operations()
        updates = [op for op in operations if op.type.startswith(("ResourceApply", "Assign"))]
        with tf.control_dependencies(updates):
            now = tf.strings.as_string(tf.timestamp(), precision=3)
            tf.print(now, output_stream=f"file://{stamps}")
        return losses

    model_lib_v2.eager_train_step = stamped
    model_lib_v2.train_loop(
        pipeline_config_path=str(attempt / CONFIG_FILE),
        model_dir=str(attempt / "model"),
        num_steps_per_iteration=iteration,
        checkpoint_every_n=NEVER,
        record_summaries=False,
    )
    return 0


def report(pairs: list[Pair], options: argparse.Namespace) -> None:
    print(
        f"{options.model}, {options.image_size}², batch {options.batch_size}, {options.steps} steps, one row a process"
    )
    print("repeat  trainer  first step, s  images/s  over steps  where the time to the first step went, s")
    for number, pair in enumerate(pairs, start=1):
        first, last = pair.window(options.warm_up)
        for run in (pair.stock, pair.ours):
            rate = run.images_per_s(first, last, options.batch_size)
            phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in run.phases.items())
            print(
                f"{number:6}  {run.trainer:7}  {run.first_step:13.1f}  {rate:8.2f}  {first + 1:4} - {last:3}  {phases}"
            )
    iteration = options.stock_iteration
    reported = statistics.median(pair.stock.steps[iteration] for pair in pairs)
    default = statistics.median(pair.stock_first_report(STOCK_DEFAULT_ITERATION, options.warm_up) for pair in pairs)
    print(
        f"stock's first report: after {reported:.1f} s with {iteration} steps a call as here, "
        f"by its step time after {default:.0f} s with its default of {STOCK_DEFAULT_ITERATION}"
    )
    rates = [pair.rate_ratio(options.warm_up) for pair in pairs]
    firsts = [pair.ours.first_step / pair.stock.first_step for pair in pairs]
    verdict("images/s, ours / stock", rates, f"at least {RATE_GOAL}", lambda ratio: ratio >= RATE_GOAL)
    verdict(
        "time to the first step, ours / stock", firsts, f"at most {FIRST_STEP_GOAL}", lambda r: r <= FIRST_STEP_GOAL
    )


def verdict(what: str, ratios: list[float], goal: str, is_met: Callable[[float], bool]) -> None:
    middle = statistics.median(ratios)
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{what}: {middle:.2f} ({each}), goal {goal}: {'pass' if is_met(middle) else 'miss'}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="efficientdet_d0", choices=list(catalogue.MODELS), metavar="MODEL")
    parser.add_argument("--image-size", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=60, help="a multiple of --stock-iteration (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=10, help="steps left out of images/s (default %(default)s)")
    parser.add_argument(
        "--stock-iteration", type=int, default=10, help="steps in a call of stock (default %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=2, help="of both (default %(default)s)")
    parser.add_argument("--slot-mb", type=int, default=0, help="memory limit of the CPU slot of both (default: none)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured there, too")
    options = parser.parse_args()
    if options.steps % options.stock_iteration or options.warm_up >= options.steps:
        parser.error("--steps must be a multiple of --stock-iteration, and more than --warm-up")
    return options


if __name__ == "__main__":
    sys.exit(main())
