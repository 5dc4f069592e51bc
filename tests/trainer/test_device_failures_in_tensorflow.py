"""Failures of a GPU, raised as TensorFlow's own exceptions in real trainer processes: what the API then says.

A CPU slot stands in for the GPU while the trainer runs; the service reads the results as those of a GPU.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from services.datasets.dataset import Dataset
from services.domain.contract import LOG_FILE, OUTCOME_FILE, Outcome
from services.domain.diagnosis.ending import Diagnosis
from services.domain.jobs.states import State
from services.store.engine import Store
from tests.support.desk import GB, Desk, gpu, sample_home
from tests.support.training.trainings import ROOT, prepare

pytestmark = pytest.mark.tensorflow

BANNER = """Graph execution error:

Detected at node model/conv1/Conv2D defined at (most recent call last):
  File "worker/trainer/__main__.py", line 100, in <module>
"""
NODE = "\n\t [[{{node model/conv1/Conv2D}}]] [Op:__inference_step_1234]"
STARVED = "E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:522] Could not create cudnn handle: CUDNN_STATUS_"
MISMATCH = (
    "E cuda_dnn.cc:534] Loaded runtime CuDNN library: 8.9.0 but source was compiled with: 9.3.0.  CuDNN library needs "
    "to have matching major version"
)


@dataclass(frozen=True)
class Failure:
    error: str
    text: str
    diagnosis: Diagnosis
    log: str = ""
    shown: str = ""  # words of the cause that people must see


FAILURES = {
    "algorithm": Failure(
        "NotFoundError",
        "No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine 1#TC: RESOURCE_EXHAUSTED: Out of "
        "memory while trying to allocate 2147483648 bytes.",
        Diagnosis.TOO_LARGE,
        shown="RESOURCE_EXHAUSTED",
    ),
    "xla": Failure(
        "ResourceExhaustedError",
        "Out of memory while trying to allocate 8589934592 bytes.",
        Diagnosis.TOO_LARGE,
        shown="8589934592 bytes",
    ),
    "request": Failure(
        "InternalError",
        "Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0",
        Diagnosis.TOO_LARGE,
        shown="2.00GiB",
    ),
    "other exhausted": Failure(
        "ResourceExhaustedError", "SameWorkerRecvDone unable to allocate output tensor", Diagnosis.TOO_LARGE
    ),
    "dnn library": Failure(
        "UnimplementedError",
        "DNN library initialization failed. Look at the errors above for more details.",
        Diagnosis.NEIGHBOUR,
        log=f"{STARVED}ALLOC_FAILED\n",
        shown="DNN library initialization failed",
    ),
    "dnn library, versions": Failure(
        "UnimplementedError",
        "DNN library initialization failed. Look at the errors above for more details.",
        Diagnosis.BUG,
        log=f"{MISMATCH}\n{STARVED}NOT_INITIALIZED\n",
        shown="DNN library initialization failed",
    ),
    "blas": Failure(
        "InternalError",
        "Attempting to perform BLAS operation using StreamExecutor without BLAS support",
        Diagnosis.NEIGHBOUR,
        log="E cuda_blas.cc:226] failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED\n",
        shown="without BLAS support",
    ),
    "set device": Failure(
        "InternalError",
        "cudaSetDevice() on GPU:0 failed. Status: out of memory",
        Diagnosis.NEIGHBOUR,
        shown="cudaSetDevice() on GPU:0 failed",
    ),
    "illegal address": Failure(
        "InternalError",
        "Failed to synchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
        Diagnosis.DEVICE,
        shown="CUDA_ERROR_ILLEGAL_ADDRESS",
    ),
    "no kernel": Failure(
        "InternalError",
        "'cuLaunchKernel(...)' failed with 'CUDA_ERROR_NO_BINARY_FOR_GPU'",
        Diagnosis.DEVICE,
        shown="CUDA_ERROR_NO_BINARY_FOR_GPU",
    ),
    "fault in the log": Failure(
        "InternalError",
        "Failed to copy input tensor to device",
        Diagnosis.DEVICE,
        log="E cuda_event.cc:29] failed to query event: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure\n",
        shown="unspecified launch failure",
    ),
}
CASES = {f"{name}, {form}": (failure, form) for name, failure in FAILURES.items() for form in ("bare", "wrapped")}
NEXT = {Diagnosis.BUG: State.FAILED}  # otherwise the job is queued again


@pytest.fixture(scope="module")
def ended(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, Outcome, str]]:
    """Exit status, outcome and log of each case's trainer."""
    folder = tmp_path_factory.mktemp("raising")
    cases: list[dict[str, Any]] = []
    for number, (failure, form) in enumerate(CASES.values()):
        attempt = prepare(folder / str(number) / "attempt", "efficientdet_d0", dataset, slot_mb=1000)
        text = f"{BANNER}{failure.text}{NODE}" if form == "wrapped" else failure.text
        cases.append({"attempt_dir": str(attempt), "error": failure.error, "text": text, "log": failure.log})
    (folder / "cases.json").write_text(json.dumps(cases))
    command = [sys.executable, "tests/support/training/raising_trainers.py", str(folder / "cases.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    statuses = json.loads(done.stdout.splitlines()[-1])
    found = {}
    for name, case, status in zip(CASES, cases, statuses, strict=True):
        attempt = Path(case["attempt_dir"])
        outcome = Outcome.from_json((attempt / OUTCOME_FILE).read_text())
        found[name] = status, outcome, (attempt / LOG_FILE).read_text()
    return found


@pytest.fixture
def desk(sqlite_store: Store, tmp_path: Path) -> Desk:
    return Desk(sqlite_store, sample_home(tmp_path / "home"), authentication=False)


@pytest.mark.parametrize("name", CASES)
def test_the_job_comes_to_what_the_cause_asks_for(
    desk: Desk, ended: Mapping[str, tuple[int, Outcome, str]], name: str
) -> None:
    failure, _ = CASES[name]
    status, outcome, log = ended[name]
    desk.report(gpu(0, 8 * GB, 8 * GB))
    claim = desk.claimed(train={"steps": 10, "batch_size": 16})
    before = desk.job(claim.job_id).plan

    desk.finish(claim, desk.left(claim, status, outcome, log))

    client = TestClient(create_app(desk.settings, desk.store), base_url="http://localhost")
    job = client.get(f"/v1/jobs/{claim.job_id}").json()
    [attempt] = client.get(f"/v1/jobs/{claim.job_id}/attempts").json()["items"]
    [device] = client.get("/v1/devices").json()["items"]
    assert attempt["diagnosis"] == failure.diagnosis, attempt
    assert failure.shown in attempt["message"]
    assert "Graph execution error" not in attempt["message"]
    assert job["state"] == NEXT.get(failure.diagnosis, State.QUEUED), job["reason"]
    assert (job["plan"] != before) == (failure.diagnosis is Diagnosis.TOO_LARGE)
    assert (device["problem"] is not None) == (failure.diagnosis is Diagnosis.DEVICE)
