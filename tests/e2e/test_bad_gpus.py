"""GPUs that do not work: the real worker with a fake driver library and a stand-in for the check of a GPU."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from services.domain.jobs.states import State
from services.jobs import actions
from services.settings import Settings
from services.store.engine import Store
from tests.support.box import ROOT, Box
from tests.support.fake_nvml import GPU_IS_LOST, HANG, FakeGpu, FakeNvml
from tests.support.training.fake_qualifier import GOOD
from worker.devices.gpu import driver

MakeBox = Callable[[str], Box]
NONE = {**GOOD, "gpus": 0, "precisions": {}}


def card(name: str, **values: Any) -> FakeGpu:
    return FakeGpu(uuid=f"GPU-{name}", name=f"Card {name}", total_mb=8000, free_mb=7900, **values)


# By card: what its check finds, and what people are told.
DEFECTS: dict[str, tuple[dict[str, Any], str]] = {
    "cpu-packages": ({"found": {**NONE, "cudnn": None, "cuda": None}}, "the CPU packages are installed"),
    "old-driver": (
        {
            "found": {**GOOD, "error": "InternalError: cudaGetDevice() failed. Status: CUDA driver version is "
                      "insufficient for CUDA runtime version"},
            "exit": 1,
        },
        "driver is too old",
    ),
    "volta": (
        {"found": {**GOOD, "capability": [7, 0], "precisions": {},
                   "refusal": "cuDNN 9.27.0.42 has no code for cards before Turing (compute capability 7.0)"}},
        "before Turing",
    ),
    "blackwell": (
        {"found": {**GOOD, "capability": [12, 0], "precisions": {}, "refusal": "this is a Blackwell card"}},
        "Blackwell",
    ),
    "exclusive": (
        {
            "found": {**GOOD, "error": "InternalError: cudaSetDevice() on GPU:0 failed. Status: all CUDA-capable "
                      "devices are busy or unavailable"},
            "exit": 1,
        },
        "exclusive compute mode",
    ),
    "fabric": (
        {"found": NONE, "log": "failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized"},
        "nvidia-fabricmanager",
    ),
    "uvm": ({"found": NONE, "log": "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error"}, "nvidia_uvm"),
    "crash": ({"found": {**GOOD, "stage": "computing in float16"}, "exit": -11}, "SIGSEGV (last step: computing in"),
    "wrong": (
        {"found": {**GOOD, "precisions": {"float32": "ok", "float16": "a convolution is wrong by nan"}}},
        "does not compute in float16",
    ),
}  # fmt: skip


@pytest.fixture
def nvml(tmp_path: Path) -> FakeNvml:
    return FakeNvml(tmp_path)


@pytest.fixture
def make_box(tmp_path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> Iterator[MakeBox]:
    started: list[tuple[Box, subprocess.Popen[bytes]]] = []

    def make(devices: str) -> Box:
        box = Box(tmp_path / "home", sqlite_store, monkeypatch, devices=devices)
        environment = {**os.environ, **box.settings.to_environment(), **nvml.environment()}
        started.append((box, subprocess.Popen([sys.executable, "-m", "worker"], cwd=ROOT, env=environment)))
        return box

    yield make
    for box, worker in started:
        box.close()
        worker.terminate()
        worker.wait(30)


def devices(box: Box) -> dict[str, dict[str, Any]]:
    """As the API shows them, by the name of the card."""
    shown = api(box, "/v1/devices")["items"]
    return {device["name"].removeprefix("Card "): device for device in shown}


def api(box: Box, path: str) -> Any:
    settings = Settings(**{**vars(box.settings), "authentication": False})
    with TestClient(create_app(settings, box.store), base_url="http://localhost") as client:
        return client.get(path).json()


def test_on_a_box_with_one_card_of_each_defect_all_jobs_succeed_on_the_good_one(
    make_box: MakeBox, nvml: FakeNvml
) -> None:
    sick = card("sick", fails={"nvmlDeviceGetMemoryInfo": GPU_IS_LOST})
    box = make_box("gpu")
    box.checks(**{f"GPU-{name}": behaviour for name, (behaviour, _) in DEFECTS.items()})
    nvml.write([*(card(name) for name in DEFECTS), sick, card("good")])
    box.until("the devices", lambda: len(devices(box)) == len(DEFECTS) + 2)  # a job is refused while there are none
    ended = box.until_final(*(box.submit() for _ in range(3)))
    assert [job.state for job in ended] == [State.SUCCEEDED] * 3
    tried = [attempt for job in ended for attempt in box.attempts(job.id)]
    assert {(attempt.device_name, attempt.diagnosis) for attempt in tried} == {("Card good", "completed")}
    found = box.until("all checks", lambda: all_checked(box))
    assert found["good"]["problem"] is None
    assert found["good"]["qualification"]["ok"]
    for name, (_, said) in DEFECTS.items():
        assert said in found[name]["problem"], name
        assert found[name]["qualification"]["ok"] is False
    assert "lost" in found["sick"]["problem"]
    assert api(box, "/readyz")["devices"]["with_problem"] == len(DEFECTS) + 1


def all_checked(box: Box) -> dict[str, dict[str, Any]] | None:
    found = devices(box)
    checked = [device for name, device in found.items() if name != "sick" and device["qualification"]]
    return found if len(checked) == len(DEFECTS) + 1 else None


def test_a_driver_that_hangs_after_the_first_look_stops_nobody(make_box: MakeBox, nvml: FakeNvml) -> None:
    assert driver._PATIENCE_S + Settings().poll_s < 5  # what a job on another device may have to wait
    box = make_box("gpu,cpu:1000")
    nvml.write([FakeGpu(uuid="GPU-a", name="Card a", total_mb=8000, free_mb=7900)])
    box.until("the check", lambda: (devices(box).get("a") or {}).get("qualification"))
    box.behave(step_s=0.2)
    on_gpu = box.submit(train={"steps": 5000, "batch_size": 4}, device={"min_memory_mb": 4000})
    box.until("a step", lambda: box.job(on_gpu).step >= 1)

    nvml.write([FakeGpu(uuid="GPU-a")], fails={"*": HANG})
    on_slot = box.submit(train={"steps": 5000, "batch_size": 4})
    box.until("a step", lambda: box.job(on_slot).step >= 1)
    [attempt] = box.attempts(on_slot)
    waited = (attempt.started_at - box.job(on_slot).created_at).total_seconds()
    print(f"a job on another device was claimed after {waited:.1f} s")
    assert attempt.device_id == "box/cpu-0"
    silent = "the NVIDIA driver does not answer since"
    box.until("the problem", lambda: silent in (devices(box)["a"]["problem"] or ""))
    [said] = api(box, "/readyz")["devices"]["problems"]
    assert silent in said
    assert box.job(on_gpu).state == State.RUNNING  # its trainer does not ask the driver
    for job_id in (on_slot, on_gpu):
        actions.cancel(box.store, box.owner, job_id)
    assert [job.state for job in box.until_final(on_slot, on_gpu)] == [State.CANCELLED] * 2


def test_one_card_that_hangs_leaves_the_others_to_the_jobs(make_box: MakeBox, nvml: FakeNvml) -> None:
    box = make_box("gpu")
    bad, good = card("bad"), card("good")
    nvml.write([bad, good])
    box.until("the checks", lambda: [device["problem"] for device in devices(box).values()] == [None, None])
    nvml.write([FakeGpu(uuid=bad.uuid, name=bad.name, fails={"*": HANG}), good])
    box.until("the problem", lambda: "for this GPU" in (devices(box)["bad"]["problem"] or ""))
    box.until("the good one", lambda: devices(box)["good"]["problem"] is None)
    [job] = box.until_final(box.submit())
    assert job.state == State.SUCCEEDED
    assert box.attempts(job.id)[0].device_name == "Card good"
