"""Checks of GPUs in child processes, with a stand-in for the child."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.attempt_paths import device_lock, qualification_dir
from services.domain.contract import DeviceKind
from services.settings import Settings
from tests.support.box import FAKE_QUALIFIER
from tests.support.desk import GB, Desk, gpu
from worker import qualifier
from worker.devices import DeviceReading
from worker.process_locks import Lock, is_free, start_time
from worker.qualifier import Qualifier, fingerprint_of, installed_packages

CARD = DeviceReading(
    "gpu-0", DeviceKind.GPU, 0, "Card", 24 * GB, 24 * GB, uuid="GPU-1", driver="550.1", capability=(8, 6)
)


@pytest.fixture
def behave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    file = tmp_path / "checks.json"
    monkeypatch.setenv("FAKE_QUALIFIER", str(file))
    return lambda **by_uuid: file.write_text(json.dumps({uuid.replace("_", "-"): b for uuid, b in by_uuid.items()}))


@pytest.fixture
def checks(desk: Desk, behave: Any) -> Qualifier:
    return make(desk)


def make(desk: Desk, **settings: Any) -> Qualifier:
    values = {**vars(desk.settings), "qualifier": FAKE_QUALIFIER, **settings}
    made = Qualifier(desk.store, Settings(**values))
    desk.report(gpu(0, 24 * GB, 24 * GB, fingerprint=fingerprint_of(CARD, made.packages)))
    return made


def until_checked(checks: Qualifier, desk: Desk) -> dict[str, Any]:
    before = desk.device("gpu-0").qualification
    deadline = time.monotonic() + 60
    while (found := desk.device("gpu-0").qualification) == before:
        checks.poll([CARD])
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert found is not None
    return found


def test_a_device_is_checked_once_with_its_uuid_and_its_lock(
    checks: Qualifier, desk: Desk, behave: Any, tmp_path: Path
) -> None:
    behave(GPU_1={"waits_for": str(tmp_path / "go")})
    checks.poll([CARD])
    assert checks.process is not None
    process = Path(f"/proc/{checks.process}")
    while not (process / "environ").read_bytes():  # the kernel is still loading the program
        time.sleep(0.01)
    environment = (process / "environ").read_bytes().split(b"\0")
    assert b"CUDA_VISIBLE_DEVICES=GPU-1" in environment
    assert not [one for one in environment if one.startswith(b"DOWNSHIFT_")]
    assert b"--reserve-mb\0001536" in (process / "cmdline").read_bytes()
    assert not is_free(device_lock(desk.settings, "gpu-0"))
    (tmp_path / "go").touch()
    found = until_checked(checks, desk)
    assert (found["ok"], found["free_bytes"], found["limit_bytes"]) == (True, 24 * GB, 6_000_000_000)
    assert is_free(device_lock(desk.settings, "gpu-0"))
    checks.poll([CARD])
    assert checks.process is None


def test_a_check_that_does_not_end_is_killed_and_counts_as_failed(desk: Desk, behave: Any) -> None:
    behave(GPU_1={"hang": True})
    checks = make(desk, qualify_s=0.3)
    checks.poll([CARD])
    process = checks.process
    assert process is not None
    found = until_checked(checks, desk)
    assert (found["ok"], found["failures_in_a_row"]) == (False, 1)
    assert "did not end within" in found["problem"]
    assert start_time(process) is None


def test_a_check_that_cannot_be_killed_is_left_alone_and_keeps_the_lock(
    desk: Desk, behave: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(GPU_1={"hang": True})
    monkeypatch.setattr(qualifier, "_ABANDON_S", 0.2)
    checks = make(desk, qualify_s=0.1)
    checks.poll([CARD])
    process = checks.process
    assert process is not None
    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", lambda *_: None)
        assert not until_checked(checks, desk)["ok"]
    assert checks.process is None
    assert not is_free(device_lock(desk.settings, "gpu-0"))
    os.kill(process, 9)


def test_the_log_of_a_failed_check_is_read_and_kept(checks: Qualifier, desk: Desk, behave: Any) -> None:
    log = "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error"
    behave(GPU_1={"found": {"gpus": 0, "cudnn": "9.10"}, "log": log})
    assert "nvidia_uvm" in until_checked(checks, desk)["problem"]
    assert log in (qualification_dir(desk.settings, "gpu-0") / "check.log").read_text()


def test_nothing_is_checked_that_has_a_problem_no_uuid_or_whose_lock_is_held(checks: Qualifier, desk: Desk) -> None:
    slot = DeviceReading("cpu-0", DeviceKind.CPU, 0, "Slot", GB, GB)
    lost = DeviceReading("gpu-0", DeviceKind.GPU, 0, "Card", GB, 0, uuid="GPU-1", problem="lost")
    for reading in (slot, lost):
        checks.poll([reading])
        assert checks.process is None
    lock = Lock(device_lock(desk.settings, "gpu-0"))
    assert lock.take()
    checks.poll([CARD])
    assert checks.process is None
    lock.close()
    checks.poll([CARD])
    assert checks.process is not None
    until_checked(checks, desk)


def test_a_command_that_cannot_be_run_is_a_failed_check(desk: Desk, behave: Any) -> None:
    checks = make(desk, qualifier=f"{sys.executable} /no/such/file")
    assert "importing TensorFlow" in until_checked(checks, desk)["problem"]


def test_the_packages_that_count_are_tensorflow_and_cuda() -> None:
    assert "tensorflow" in installed_packages()
    assert all(name.startswith(("tensorflow", "nvidia-")) for name in installed_packages())
