"""A driver that hangs: the real children and the real binding, with a fake library whose calls never return."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_nvml import DRIVER_NOT_LOADED, HANG, FakeGpu, FakeNvml
from worker.devices.gpu import driver
from worker.devices.gpu.driver import Driver
from worker.devices.gpu.nvml import NvmlSilent, NvmlUnavailable

ROOT = Path(__file__).parents[4]
A, B = (FakeGpu(uuid=f"GPU-{letter * 8}", name=f"Card {letter.upper()}") for letter in "ab")
HUNG = FakeGpu(uuid=B.uuid, name=B.name, fails={"*": HANG})
DEVICES = """
import dataclasses, json, sys
from worker.devices import Devices, parse_devices
devices = Devices(parse_devices(sys.argv[1]), cuda_visible=None)
for line in sys.stdin:
    print(json.dumps([dataclasses.asdict(reading) for reading in devices.read()]), flush=True)
"""


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """The library is found by children of this process."""
    fake = FakeNvml(tmp_path)
    for name, value in fake.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(driver, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(driver, "_FIRST_PATIENCE_S", 60.0)
    return fake


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reader(box: FakeNvml, clock: Clock) -> Iterator[Driver]:
    found = Driver(clock)
    yield found
    found._close_cards()
    found._all.close()


def problems(gpus: list[Any]) -> list[bool]:
    return [bool(gpu.problem) for gpu in gpus]


def answered(reader: Driver, clock: Clock, wanted: list[bool]) -> list[Any]:
    """Read until the cards are as `wanted`: a new child needs a moment to start."""
    for _ in range(300):
        clock.now += 0.01
        time.sleep(0.05)
        try:
            gpus = reader.read()[1]
        except NvmlSilent:
            continue
        if problems(gpus) == wanted:
            return gpus
    raise AssertionError(f"never {wanted}")


def test_the_driver_is_read_in_another_process(box: FakeNvml, reader: Driver) -> None:
    box.write([A, B], driver="560.1")
    version, gpus = reader.read()
    assert version == "560.1"
    assert [(gpu.uuid, gpu.capability, gpu.free_bytes) for gpu in gpus] == [
        (A.uuid, (8, 6), 24_000 * 2**20),
        (B.uuid, (8, 6), 24_000 * 2**20),
    ]
    box.write(fails={"*": DRIVER_NOT_LOADED})
    with pytest.raises(NvmlUnavailable, match="not loaded"):
        reader.read()


def test_a_driver_that_hangs_is_waited_for_once_and_is_silent_from_then_on(
    box: FakeNvml, reader: Driver, clock: Clock
) -> None:
    box.write([A, B])
    reader.read()
    box.write([A, B], fails={"*": HANG})
    with pytest.raises(NvmlSilent, match=r"does not answer since .* UTC: see dmesg"):
        reader.read()
    clock.now += 30  # the deadline has passed: each card is read alone, and none answers
    _, gpus = reader.read()
    assert [gpu.uuid for gpu in gpus] == [A.uuid, B.uuid]
    assert all("for this GPU since" in (gpu.problem or "") for gpu in gpus)


def test_one_card_that_hangs_is_one_bad_device(box: FakeNvml, reader: Driver, clock: Clock) -> None:
    box.write([A, B])
    reader.read()
    box.write([A, HUNG])
    with pytest.raises(NvmlSilent):
        reader.read()
    clock.now += 30
    good, bad = answered(reader, clock, [False, True])
    assert (good.uuid, good.free_bytes, bad.uuid) == (A.uuid, 24_000 * 2**20, B.uuid)


def test_a_driver_that_answers_again_is_found_later(box: FakeNvml, reader: Driver, clock: Clock) -> None:
    box.write([A, B])
    reader.read()
    box.write([A, HUNG])
    with pytest.raises(NvmlSilent):
        reader.read()
    clock.now += 30
    answered(reader, clock, [False, True])
    box.write([A, B])
    clock.now += 120
    answered(reader, clock, [False, False])
    assert reader._cards == {}


def test_a_slow_answer_is_taken_at_a_later_read(box: FakeNvml, reader: Driver, clock: Clock) -> None:
    box.write([A])
    reader.read()
    assert reader._all._child._process is not None
    child = reader._all._child._process.pid
    os.kill(child, signal.SIGSTOP)
    with pytest.raises(NvmlSilent):
        reader.read()
    os.kill(child, signal.SIGCONT)
    assert answered(reader, clock, [False])[0].uuid == A.uuid


def test_a_child_that_was_killed_is_replaced(box: FakeNvml, reader: Driver, clock: Clock) -> None:
    box.write([A])
    reader.read()
    assert reader._all._child._process is not None
    os.kill(reader._all._child._process.pid, signal.SIGKILL)
    with pytest.raises(NvmlUnavailable, match="has ended"):
        reader.read()
    assert answered(reader, clock, [False])[0].uuid == A.uuid


def test_a_child_ends_with_its_parent_although_the_driver_hangs(box: FakeNvml) -> None:
    box.write([A], fails={"*": HANG})
    child = subprocess.Popen(
        [sys.executable, "-m", "worker.devices.gpu.nvml_child"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin
    child.stdin.write(b"read\n")
    child.stdin.close()
    assert child.wait(60) == 0
    assert child.stdout
    child.stdout.close()


def test_a_driver_that_never_answered_is_a_gpu_with_a_problem_and_no_cpu_slot(box: FakeNvml) -> None:
    box.write([A], fails={"*": HANG})
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from worker.devices.gpu import driver; driver._FIRST_PATIENCE_S = 0.5\n{DEVICES}",
            "auto",
        ],
        cwd=ROOT,
        input="\n",
        capture_output=True,
        text=True,
        check=True,
    )
    (gpu,) = json.loads(done.stdout)
    assert (gpu["key"], gpu["free_bytes"]) == ("gpu-0", 0)
    assert "does not answer since" in gpu["problem"]
