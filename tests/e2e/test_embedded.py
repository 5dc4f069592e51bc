"""The service as started by a new user: `python -m launcher run` in an empty HOME, with nothing else running.

Everything is real except the trainer, which trains nothing and behaves as the test wants.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.domain.jobs.states import State
from services.store import jobs
from services.store.engine import Store
from tests.support.newcomer import TIMEOUT_S, Newcomer, until


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    newcomer = Newcomer(tmp_path)
    yield newcomer
    newcomer.close()


@pytest.fixture
def go(newcomer: Newcomer, tmp_path: Path) -> Path:
    """The trainer waits at step 2 until this file exists."""
    path = tmp_path / "go"
    newcomer.behave(waits_for=str(path))
    return path


def submit(client: httpx.Client, steps: int = 3) -> str:
    body = {
        "dataset": "shapes",
        "model": "efficientdet_d0",
        "image_size": [256, 256],
        "train": {"steps": steps, "batch_size": 2},
    }
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return answer.headers["Location"]


def until_state(client: httpx.Client, job: str, *states: str) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        found: dict[str, Any] = client.get(job).json()
        return found if found["state"] in states else None

    found: dict[str, Any] = until(f"{job} {states}", reached)
    return found


def test_the_printed_command_submits_a_job_that_succeeds(newcomer: Newcomer) -> None:
    service = newcomer.start()
    with service.client() as client:
        if shutil.which("curl"):
            said = service.said
            line = said[said.index("curl ") : said.index("Ctrl-C stops")]
            subprocess.run(["bash", "-c", line], check=True, capture_output=True, timeout=TIMEOUT_S)
        else:
            submit(client)

        job = until_state(client, "/v1/jobs/1", "succeeded", "failed")

        assert (job["state"], job["attempts"]) == ("succeeded", 1)
    assert service.end(signal.SIGINT) == 0
    assert service.said.splitlines()[-1] == "downshift | stopped"
    until("nothing is left", lambda: not newcomer.processes())


def test_a_second_start_says_that_the_service_is_already_running_and_changes_nothing(newcomer: Newcomer) -> None:
    first = newcomer.start()
    url = first.until_ready()

    second = newcomer.start()

    assert second.wait() == 1
    assert second.said == f"Downshift is already running in {newcomer.home} (pid {first.process.pid}, {url})\n"
    assert httpx.get(f"{url}/readyz").status_code == 200


def test_training_goes_on_after_ctrl_c_and_the_next_start_takes_over(newcomer: Newcomer, go: Path) -> None:
    first = newcomer.start()
    with first.client() as client:
        job = submit(client, steps=5)
        until("its steps", lambda: client.get(job).json()["progress"]["step"] >= 2)

    assert first.end(signal.SIGINT) == 0

    assert re.search(
        r"training goes on: job 1 \(attempt 1, step 2/5\) on cpu-0; `make run` picks it up again", first.said
    )
    left = newcomer.processes()
    assert [line for line in left if "fake_trainer" in line], left
    assert not [line for line in left if "launcher" in line or "redis" in line or "-m api" in line], left
    second = newcomer.start()
    with second.client() as client:
        go.touch()
        found = until_state(client, job, "succeeded", "failed")
        assert (found["state"], found["attempts"], found["progress"]["step"]) == ("succeeded", 1, 5)
    assert [line[0] for line in newcomer.lives()] == ["START", "STOP"]
    assert second.end(signal.SIGINT) == 0
    until("nothing is left", lambda: not newcomer.processes())


def test_training_that_ends_while_the_service_is_stopped_is_stored(newcomer: Newcomer, go: Path) -> None:
    first = newcomer.start()
    with first.client() as client:
        job = submit(client, steps=5)
        until("its steps", lambda: client.get(job).json()["progress"]["step"] >= 2)
    first.end(signal.SIGTERM)
    go.touch()
    until("the end of training", lambda: not newcomer.processes())

    with newcomer.start().client() as client:
        found = client.get(job).json()

    assert (found["state"], found["attempts"]) == ("succeeded", 1)


def test_after_a_kill_of_the_launcher_only_training_goes_on_and_a_new_start_works(newcomer: Newcomer, go: Path) -> None:
    first = newcomer.start()
    with first.client() as client:
        port = client.base_url.port
        job = submit(client, steps=5)
        until("its steps", lambda: client.get(job).json()["progress"]["step"] >= 2)
    first.end(signal.SIGKILL)

    second = newcomer.start(DOWNSHIFT_BIND=f"127.0.0.1:{port}")

    with second.client() as client:
        go.touch()
        found = until_state(client, job, "succeeded", "failed")
    assert (found["state"], found["attempts"]) == ("succeeded", 1)
    assert [line[0] for line in newcomer.lives()] == ["START", "STOP"]


def test_a_killed_worker_is_restarted_and_works(newcomer: Newcomer) -> None:
    service = newcomer.start()
    with service.client() as client:
        until("a device", lambda: client.get("/v1/devices").json()["items"])
        os.kill(service.child("-m worker"), signal.SIGKILL)
        until("the log line", lambda: "worker was killed by SIGKILL; starting it again in 1 s" in service.said)

        found = until_state(client, submit(client), "succeeded", "failed")

    assert found["state"] == "succeeded"


def test_the_demo_shows_a_job_that_runs_out_of_memory_is_re_planned_and_succeeds(newcomer: Newcomer) -> None:
    newcomer.behave(need_mb_per_image=220)

    demo = newcomer.start("demo", "--no-keep")

    assert demo.wait() == 0, demo.said
    assert f"in a browser, with the token in {newcomer.home}/demo/admin-token" in demo.said
    assert "out of memory: too large" in demo.said
    assert "micro_batch 8 -> 2" in demo.said
    assert "Job 1 succeeded." in demo.said
    second = demo.said.partition("The same model again")[2]
    assert "Job 2 succeeded." in second
    assert "out of memory" not in second
    assert "2 measurements of efficientdet_d0" in " ".join(second.split())
    assert re.search(r"Attempt 1: predicted 4\d\d MB \(", second)
    assert re.search(r"measured 4\d\d MB: 0.0% too ", " ".join(second.split()))
    assert max(map(len, demo.said.splitlines())) <= 100 + len(str(newcomer.home))
    until("nothing is left", lambda: not newcomer.processes())


def test_a_demo_whose_job_fails_exits_with_the_reason(newcomer: Newcomer) -> None:
    newcomer.behave(die="exit3", die_at_step=1)

    demo = newcomer.start("demo")

    assert demo.wait() == 1
    assert "The demo failed: the job has failed: the trainer wrote no outcome and ended with exit status 3" in demo.said
    assert "fake trainer: one line of log" in demo.said
    until("nothing is left", lambda: not newcomer.processes())


def test_an_interrupted_demo_stops_its_training_too(newcomer: Newcomer) -> None:
    newcomer.behave(step_s=1)
    demo = newcomer.start("demo")
    until("training", lambda: newcomer.lives() or demo.process.poll() is not None)

    assert demo.end(signal.SIGINT) == 130, demo.said
    until("nothing is left", lambda: not newcomer.processes())
    assert [line[0] for line in newcomer.lives()] == ["START", "STOP"], demo.said
    assert "The service is stopped." in demo.said
    with closing(Store.open(f"sqlite:///{newcomer.home}/demo/downshift.db")) as store, store.reading() as session:
        job = jobs.get(session, 1)
    assert job is not None
    assert job.state == State.CANCELLED, demo.said
