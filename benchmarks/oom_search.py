"""Compare Downshift with the batch searches of other tools: from a batch that does not fit to one that trains.

    python benchmarks/oom_search.py --save results.jsonl             # about 45 minutes on two idle cores
    python benchmarks/oom_search.py --only d0-16 --with halving      # one job, one way
    python benchmarks/oom_search.py --quick                          # two sizes of EfficientDet-D0 only
    python benchmarks/oom_search.py --points results.jsonl           # the table of saved results, at once

With `--save`, results in the file are not run again. Each job is really trained on a CPU slot with TensorFlow's GPU
allocator. Downshift is the whole service over HTTP, with an empty home (cold), and then the same job again (warm). The
other tools are in `benchmarks/batch_searches.py`, which retries as they do.

  failed   tries that ran out of memory: attempts, and sizes of Downshift's probe that did not fit.
  lost     seconds until the first step of the final configuration is done, compared with starting with it. Downshift:
           from the request to that step, minus the same time of a trainer that is started with the final plan by hand.
           The others: the time of all other tries in a running process, without imports and the start of a process.
  used     the allocator's peak in training with the final configuration, relative to the slot's limit. A tool that
           changes the batch may end on any number. A micro-batch divides the batch: for 16 there is nothing between 4
           and 8.
  batch    micro-batches × images in each, and whether an update still has as many images as requested.
  tries    in their order; those of the probe in brackets.

If a job's batch may not be accumulated, Downshift and halving try smaller batches instead. The other tools always do.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from launcher import addresses
from launcher.demo.service import Api, serving
from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.domain import catalogue
from services.domain.contract import EVENTS_FILE, AttemptSpec, Device
from services.domain.pipeline_config import apply, build_config
from services.domain.plan.plan import Plan
from services.settings import Settings
from worker.attempt_dir import with_dataset, write_attempt

ROOT = Path(__file__).resolve().parent.parent
SIDE = 256
STEPS = 2
FINAL = ("succeeded", "failed", "cancelled")
DOWNSHIFT = "Downshift"
TOOLS = {"halving": "Composer", "shrinking": "Accelerate × 0.9", "doubling": "Lightning binsearch"}


@dataclass(frozen=True)
class Job:
    name: str
    model: str
    batch: int
    slot_mb: int
    accumulates: bool = True

    def __str__(self) -> str:
        kept = "" if self.accumulates else ", without accumulation"
        return f"{self.model}, {SIDE}², batch {self.batch} in {self.slot_mb} MiB{kept}"

    @property
    def request(self) -> dict[str, Any]:
        return {
            "dataset": "shapes",
            "model": self.model,
            "image_size": [SIDE, SIDE],
            "train": {"steps": STEPS, "batch_size": self.batch},
            "policy": {} if self.accumulates else {"levers": ["batch_size"]},
        }


JOBS = (
    Job("d0-16", "efficientdet_d0", 16, 1000),
    Job("d0-12", "efficientdet_d0", 12, 1300),
    Job("faster-8", "faster_rcnn_resnet50_fpn", 8, 2000),
    Job("d0-16-whole", "efficientdet_d0", 16, 1000, accumulates=False),
    Job("mask-4", "mask_rcnn_resnet50_fpn", 4, 3000),
)
QUICK = (Job("quick", "efficientdet_d0", 4, 600),)


@dataclass(frozen=True)
class Result:
    job: str
    way: str
    tries: list[str]
    failed: int
    lost_s: float
    peak: int
    limit: int
    batch: int
    micro_batch: int


def downshift(job: Job, folder: Path) -> Iterator[Result]:
    """Cold, then warm: the second job uses the first one's measurements."""
    home = folder / "home"
    dataset = generate(home / "datasets" / "shapes")
    settings = Settings(
        home=home, devices=f"cpu:{job.slot_mb}", bind=addresses.free_bind(("127.0.0.1", 0)), min_free_disk_mb=1
    )
    direct: dict[Plan, float] = {}
    with serving(settings) as api:
        for way in ("cold", "warm"):
            asked = time.time()
            finished = wait_until_finished(api, api.post("/v1/jobs", job.request)["id"])
            steps = [event for event in finished.events if event["kind"] == "step"]
            if finished.plan not in direct:
                direct[finished.plan] = first_step_s(finished.plan, job, dataset, folder / f"direct-{way}")
            lost = steps[0]["time"] - asked - direct[finished.plan]
            device = steps[-1]["device"]
            yield Result(
                job.name,
                f"{DOWNSHIFT} {way}",
                finished.tries,
                finished.failed,
                lost,
                device["peak"],
                device["limit"],
                finished.plan.batch_size,
                finished.plan.micro_batch,
            )


@dataclass(frozen=True)
class FinishedJob:
    """The result of a job of the service. `events`: those of its last attempt."""

    plan: Plan
    tries: list[str]
    failed: int
    events: list[dict[str, Any]]


def wait_until_finished(api: Api, job_id: int) -> FinishedJob:
    while (job := api.get(f"/v1/jobs/{job_id}"))["state"] not in FINAL:
        time.sleep(0.2)
    if job["state"] != "succeeded":
        sys.exit(f"the job has {job['state']}: {job['reason']}")
    attempts = api.get(f"/v1/jobs/{job_id}/attempts")["items"]
    failed, tries, events = 0, [], []
    for attempt in attempts:
        text = api.text(f"/v1/jobs/{job_id}/artifacts/attempt-{attempt['number']}/{EVENTS_FILE}")
        events = [json.loads(line) for line in text.splitlines()]
        probed = [point for event in events if event["kind"] == "probe" for point in event["points"]]
        plan = Plan(**attempt["plan"])
        tries += [f"({size(plan.batch_size, point['micro_batch'])})" for point in probed]
        tries.append(size(plan.batch_size, plan.micro_batch))
        failed += sum(point["peak"] is None for point in probed) + (attempt["diagnosis"] != "completed")
    return FinishedJob(plan, tries, failed, events)


def first_step_s(plan: Plan, job: Job, dataset: Dataset, folder: Path) -> float:
    """The seconds from the start of a trainer with `plan` to its first step."""
    attempt = write_attempt_of(job, dataset, folder, plan)
    started = time.time()
    command = [sys.executable, "-m", "worker.trainer", str(attempt)]
    run = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(f"{plan}: {run.stderr}")
    events = [json.loads(line) for line in (attempt / EVENTS_FILE).read_text().splitlines()]
    return float(next(event["time"] for event in events if event["kind"] == "step")) - started


def write_attempt_of(job: Job, dataset: Dataset, folder: Path, plan: Plan | None = None) -> Path:
    """An attempt directory with `plan`, or else with the job's requested batch."""
    batch = plan.batch_size if plan else job.batch
    config = build_config(catalogue.get(job.model), dataset.num_classes, (SIDE, SIDE), batch, STEPS)
    spec = AttemptSpec(
        job_dir=str(folder / "job"),
        architecture=job.model,
        micro_batch=plan.micro_batch if plan else 0,
        device=Device(memory_limit_mb=job.slot_mb),
        evaluate_at_end=False,
        export=False,
    )
    return write_attempt(folder / "attempt", spec, with_dataset(apply(plan, config) if plan else config, dataset))


def run_search(job: Job, search: str, folder: Path) -> Result:
    dataset = generate(folder / "shapes")
    attempt = write_attempt_of(job, dataset, folder)
    command = [sys.executable, str(ROOT / "benchmarks" / "batch_searches.py"), str(attempt), search]
    if not job.accumulates:
        command.append("--whole")
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{job}: {TOOLS[search]}: {run.stderr[-2000:]}")
    found = json.loads(run.stdout.splitlines()[-1])
    tries, final = found["tries"], found["final"]
    return Result(
        job.name,
        TOOLS[search],
        [size(one["batch"], one["micro_batch"]) for one in tries],
        sum(not one["fits"] for one in tries),
        found["lost_s"],
        final["peak"],
        job.slot_mb * 2**20,
        final["batch"],
        final["micro_batch"],
    )


def generate(folder: Path) -> Dataset:
    return shapes.generate(folder, train=24, validation=2)


def size(batch: int, micro_batch: int) -> str:
    return str(batch) if batch == micro_batch else f"{batch // micro_batch}×{micro_batch}"


def ways(job: Job, chosen: str | None) -> list[str]:
    """The searches for this job, without those that ignore accumulation, which run with the other jobs."""
    able = (DOWNSHIFT, *TOOLS) if job.accumulates else (DOWNSHIFT, "halving")
    return [way for way in able if chosen in (None, way)]


def results(jobs: tuple[Job, ...], chosen: str | None, known: list[Result]) -> Iterator[Result]:
    done = {(result.job, result.way) for result in known}
    for job in jobs:
        for way in ways(job, chosen):
            names = {f"{DOWNSHIFT} cold", f"{DOWNSHIFT} warm"} if way == DOWNSHIFT else {TOOLS[way]}
            if {(job.name, name) for name in names} <= done:
                continue
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                if way == DOWNSHIFT:
                    yield from downshift(job, Path(folder))
                else:
                    yield run_search(job, way, Path(folder))


HEAD = f"{'':22}{'failed':>7}{'lost':>8}{'of halving':>12}{'used':>7}{'batch':>8}  tries"


def show(found: list[Result], jobs: tuple[Job, ...]) -> None:
    for job in jobs:
        of_job = [result for result in found if result.job == job.name]
        if not of_job:
            continue
        print(f"\n{job}\n{HEAD}")
        halving = next((result.lost_s for result in of_job if result.way == TOOLS["halving"]), None)
        for result in of_job:
            kept = "kept" if result.batch == job.batch else "changed"
            share = f"{result.lost_s / halving:.0%}" if halving else ""
            print(f"{result.way:22}{result.failed:7}{result.lost_s:7.0f}s{share:>12}", end="")
            print(f"{result.peak / result.limit:7.0%}{size(result.batch, result.micro_batch):>8}", end="")
            print(f"  {' '.join(result.tries)}  ({kept})", flush=True)


def main() -> None:
    options = _options()
    jobs = QUICK if options.quick else tuple(job for job in JOBS if options.only in (None, job.name))
    file = options.points or options.save
    found = _read(file) if file and file.exists() else []
    if not options.points:
        for result in results(jobs, options.ways, found):
            found.append(result)
            print(json.dumps(asdict(result)), file=sys.stderr, flush=True)
            if options.save:
                with options.save.open("a") as out:
                    out.write(json.dumps(asdict(result)) + "\n")
    show(found, jobs)


def _read(file: Path) -> list[Result]:
    return [Result(**json.loads(line)) for line in file.read_text().splitlines()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[job.name for job in JOBS], help="one job")
    parser.add_argument("--with", dest="ways", choices=[DOWNSHIFT, *TOOLS], help="one way")
    parser.add_argument("--quick", action="store_true", help="one small job")
    parser.add_argument("--save", type=Path, help="a file to add results to, one JSON object a line, and to go on from")
    parser.add_argument("--points", type=Path, help="show what was saved, run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
