"""Measure the time from POST to the trainer's start on a free device, with SQLite and the private Redis, and with
PostgreSQL and a Redis on TCP.

    python benchmarks/dispatch.py [--jobs 20]

The service is the real one, over HTTP. The trainer is a fake that ends at once, as only its start is measured. The time
runs from the client's clock before the request to the supervisor's right after it has started the trainer.
"""

import argparse
import contextlib
import datetime
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from launcher import addresses  # noqa: E402
from launcher.demo.service import Api, serving  # noqa: E402
from services.datasets import shapes  # noqa: E402
from services.settings import Settings  # noqa: E402
from tests.support.databases import postgres_server  # noqa: E402

JOB = {
    "dataset": "shapes",
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 1, "batch_size": 2},
}
FINAL = ("succeeded", "failed", "cancelled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20)
    count = parser.parse_args().jobs
    print(f"{'service':<24}{'jobs':>6}{'first':>9}{'median':>9}{'p95':>9}{'max':>9}   seconds from POST to trainer")
    with tempfile.TemporaryDirectory() as folder:
        report("SQLite + private Redis", measure(Settings(**common(Path(folder, "home"))), count))
    with tempfile.TemporaryDirectory() as folder, postgres_server(Path(folder, "pg")) as database, redis() as broker:
        settings = Settings(**common(Path(folder, "home")), database_url=database, broker_url=broker)
        report("PostgreSQL + Redis", measure(settings, count))


def common(home: Path) -> dict[str, object]:
    shapes.generate(home / "datasets" / "shapes", train=4, validation=2, size=64)
    behaviour = home / "behaviour.json"
    behaviour.write_text(json.dumps({"step_s": 0}))
    os.environ["FAKE_TRAINER"] = str(behaviour)
    return {
        "home": home,
        "devices": "cpu:2000",
        "bind": addresses.free_bind(("127.0.0.1", 0)),
        "min_free_disk_mb": 1,
        "rate_limit": 0,  # the client sends requests as fast as it can
        "trainer": f"{sys.executable} {ROOT / 'tests' / 'support' / 'training' / 'fake_trainer.py'}",
    }


def measure(settings: Settings, count: int) -> list[float]:
    with serving(settings) as api:
        wait_for_device(api)
        return [one(api) for _ in range(count)]


def one(api: Api) -> float:
    """Submit one job and wait for its end, so that each job finds the device free."""
    asked = time.time()
    job = api.post("/v1/jobs", JOB)
    while api.get(f"/v1/jobs/{job['id']}")["state"] not in FINAL:
        time.sleep(0.05)
    [attempt] = api.get(f"/v1/jobs/{job['id']}/attempts")["items"]
    return datetime.datetime.fromisoformat(attempt["trainer_started_at"]).timestamp() - asked


def wait_for_device(api: Api) -> None:
    deadline = time.monotonic() + 30
    while not api.get("/v1/devices")["items"]:
        if time.monotonic() > deadline:
            sys.exit("no device was reported within 30 s")
        time.sleep(0.05)


@contextlib.contextmanager
def redis() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [Path(sys.executable).parent / "redis-server", "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(0.5)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def report(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    figures = (seconds[0], statistics.median(seconds), p95, ordered[-1])
    print(f"{name:<24}{len(seconds):>6}" + "".join(f"{figure:>9.3f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
