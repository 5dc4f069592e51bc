"""Devices as Downshift sees them. The GPUs are a fake library's; everything above it, the binding included, is real.

The binding finds the library when its process starts, so each test looks through a child.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.domain.contract import Device, DeviceKind
from tests.support.fake_nvml import (
    DRIVER_NOT_LOADED,
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    NOT_SUPPORTED,
    UNKNOWN,
    FakeGpu,
    FakeNvml,
    no_library,
)
from worker.devices import DeviceReading, HeldBy, contract_device, others, trainer_environment

ROOT = Path(__file__).parents[3]
MB = 2**20
A, B, C = (
    FakeGpu(uuid=f"GPU-{letter * 8}-0000-0000-0000-000000000000", name=f"Card {letter.upper()}") for letter in "abc"
)


def lost(gpu: FakeGpu) -> FakeGpu:
    return FakeGpu(uuid=gpu.uuid, name=gpu.name, fails={"*": GPU_IS_LOST})


@pytest.fixture
def box(tmp_path: Path) -> FakeNvml:
    return FakeNvml(tmp_path)


def surroundings(environment: dict[str, str]) -> dict[str, str]:
    ours = ("DOWNSHIFT_", "CUDA_", "FAKE_NVML_", "LD_LIBRARY_PATH")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, **environment}


def command(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "worker.devices", *arguments]
    return subprocess.run(words, cwd=ROOT, env=surroundings(environment), capture_output=True, text=True, check=False)


def look(box: FakeNvml | dict[str, str], *arguments: str, **environment: str) -> list[dict[str, Any]]:
    """What `python -m worker.devices` prints."""
    library = box.environment() if isinstance(box, FakeNvml) else box
    done = command({**library, **environment}, *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


WATCHER = """
import dataclasses, json, os, sys
from worker.devices import Devices, parse_devices
from worker.devices.nvml import Nvml

now = 0.0
devices = Devices(parse_devices(sys.argv[1]), cuda_visible=None, nvml=Nvml(clock=lambda: now))

def answer():
    print(json.dumps([dataclasses.asdict(reading) for reading in devices.read()]), flush=True)

for line in sys.stdin:
    if line.strip() == "fork":
        child = os.fork()
        if not child:
            answer()
            os._exit(0)
        os.waitpid(child, 0)
    else:
        now += float(line)
        answer()
"""


class Watcher:
    """A process that keeps one `Devices` and looks whenever it is told to, under a clock of its own."""

    def __init__(self, box: FakeNvml, setting: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WATCHER, setting],
            cwd=ROOT,
            env=surroundings(box.environment()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def look(self, *, after: float = 1.0, forked: bool = False) -> list[dict[str, Any]]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("fork\n" if forked else f"{after}\n")
        self._process.stdin.flush()
        readings: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return readings

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture
def watcher(box: FakeNvml) -> Iterator[Watcher]:
    watcher = Watcher(box, "auto")
    yield watcher
    watcher.close()


def test_a_gpu_is_seen_with_all_that_the_driver_tells(box: FakeNvml) -> None:
    someone = os.getpid()
    box.write(
        [
            FakeGpu(
                uuid="GPU-1",
                name="NVIDIA GeForce RTX 3090",
                total_mb=24_576,
                free_mb=9000,
                utilisation=87,
                temperature=71,
                processes=[(someone, 15_000)],
            )
        ],
        driver="560.35.03",
    )

    assert look(box) == [
        {
            "key": "gpu-0",
            "kind": "gpu",
            "index": 0,
            "name": "NVIDIA GeForce RTX 3090",
            "total_bytes": 24_576 * MB,
            "free_bytes": 9000 * MB,
            "utilisation": 87,
            "temperature": 71,
            "processes": [{"pid": someone, "used_bytes": 15_000 * MB, "name": name_of_this_process()}],
            "bfloat16": True,
            "uuid": "GPU-1",
            "driver": "560.35.03",
            "problem": None,
            "pinned": False,
        }
    ]


def name_of_this_process() -> str:
    return Path("/proc/self/comm").read_text().strip()


@pytest.mark.parametrize(("capability", "bfloat16"), [((7, 5), False), ((8, 0), True), ((12, 0), True), (None, False)])
def test_bfloat16_is_for_ampere_and_later(box: FakeNvml, capability: tuple[int, int] | None, bfloat16: bool) -> None:
    box.write([FakeGpu(capability=capability)])

    assert look(box)[0]["bfloat16"] is bfloat16


def test_what_a_card_does_not_tell_is_unknown_and_no_problem(box: FakeNvml) -> None:
    silent = {
        "nvmlDeviceGetName": UNKNOWN,
        "nvmlDeviceGetComputeRunningProcesses_v3": NOT_SUPPORTED,
        "nvmlDeviceGetGraphicsRunningProcesses_v3": NOT_SUPPORTED,
    }
    box.write(
        [FakeGpu(utilisation=None, temperature=None, capability=None, fails=silent)],
        fails={"nvmlSystemGetDriverVersion": UNKNOWN},
    )

    (gpu,) = look(box)

    assert (gpu["utilisation"], gpu["temperature"], gpu["driver"]) == (None, None, None)
    assert (gpu["name"], gpu["processes"], gpu["problem"]) == ("GPU 0", [], None)
    assert gpu["free_bytes"] == 24_000 * MB


def test_an_older_driver_tells_its_temperature_the_old_way(box: FakeNvml) -> None:
    box.write([FakeGpu(temperature=66, fails={"nvmlDeviceGetTemperatureV": FUNCTION_NOT_FOUND})])

    assert look(box)[0]["temperature"] == 66


def test_processes_of_both_kinds_are_listed_once_and_may_be_nameless(box: FakeNvml) -> None:
    nobody = 2**22 + 5  # beyond the largest pid there can be: as the host's pids are in a container
    box.write([FakeGpu(processes=[(nobody, None), (1, 700)], graphics=[(1, None), (nobody + 1, 5)])])

    (gpu,) = look(box)

    assert [(held["pid"], held["used_bytes"]) for held in gpu["processes"]] == [
        (nobody, None),
        (1, 700 * MB),
        (nobody + 1, 5 * MB),
    ]
    assert gpu["processes"][0]["name"] is None
    assert gpu["processes"][1]["name"] is not None


def test_more_processes_than_the_binding_makes_room_for_at_first(box: FakeNvml) -> None:
    box.write([FakeGpu(processes=[(pid, 1) for pid in range(1, 41)])])

    assert len(look(box)[0]["processes"]) == 40


def test_a_lost_gpu_does_not_hide_the_others(box: FakeNvml) -> None:
    box.write([A, lost(B), C])

    gpus = look(box)

    assert [gpu["key"] for gpu in gpus] == ["gpu-0", "gpu-1", "gpu-2"]
    assert [bool(gpu["problem"]) for gpu in gpus] == [False, True, False]
    assert "lost" in gpus[1]["problem"]
    assert gpus[1]["free_bytes"] == 0
    assert gpus[2]["free_bytes"] == 24_000 * MB
    assert gpus[2]["pinned"]  # CUDA may not count the lost one


def test_a_gpu_that_is_lost_while_it_is_read_has_that_problem(box: FakeNvml) -> None:
    box.write([FakeGpu(fails={"nvmlDeviceGetUtilizationRates": GPU_IS_LOST})])

    (gpu,) = look(box)

    assert "lost" in gpu["problem"]
    assert gpu["free_bytes"] == 0


def test_a_gpu_whose_memory_cannot_be_read_is_not_offered(box: FakeNvml) -> None:
    box.write([FakeGpu(uuid="GPU-9", fails={"nvmlDeviceGetMemoryInfo": NOT_SUPPORTED})])

    (gpu,) = look(box)

    assert gpu["uuid"] == "GPU-9"
    assert "memory" in gpu["problem"]


def test_a_gpu_that_is_cut_up_is_not_offered_whole(box: FakeNvml) -> None:
    box.write([FakeGpu(mig=True), FakeGpu(uuid="GPU-2", mig=False)])

    first, second = look(box)

    assert "MIG" in first["problem"]
    assert first["free_bytes"] == 0
    assert second["problem"] is None


@pytest.mark.parametrize("failing", ["no library", "no driver", "no GPU", "hidden"])
def test_without_a_gpu_there_is_one_cpu_slot(box: FakeNvml, tmp_path: Path, failing: str) -> None:
    environment = {}
    if failing == "no driver":
        box.write([A], fails={"nvmlInitWithFlags": DRIVER_NOT_LOADED})
    if failing == "hidden":
        box.write([A])
        environment = {"CUDA_VISIBLE_DEVICES": "-1"}

    (slot,) = look(no_library(tmp_path) if failing == "no library" else box, **environment)

    assert (slot["key"], slot["kind"], slot["index"]) == ("cpu-0", "cpu", 0)
    assert slot["total_bytes"] % (256 * MB) == 0
    assert slot["total_bytes"] >= 512 * MB
    assert 0 < slot["free_bytes"] <= slot["total_bytes"]
    assert slot["bfloat16"] is False
    assert slot["problem"] is None


def test_why_there_is_no_gpu_is_said(tmp_path: Path) -> None:
    done = command(no_library(tmp_path))

    assert done.returncode == 0
    assert "libnvidia-ml.so.1 is missing" in done.stderr


def test_slots_are_numbered_and_as_large_as_they_were_made(box: FakeNvml) -> None:
    box.write([A])

    slots = look(box, DOWNSHIFT_DEVICES="cpu:64,cpu:16000000")

    assert [slot["key"] for slot in slots] == ["cpu-0", "cpu-1"]
    assert [slot["total_bytes"] for slot in slots] == [64 * MB, 16_000_000 * MB]
    assert slots[0]["free_bytes"] == 64 * MB
    assert slots[1]["free_bytes"] < slots[1]["total_bytes"]  # the host has less
    assert box.calls() == []  # nobody asked for a GPU


def test_only_the_gpus_that_are_named_are_taken(box: FakeNvml) -> None:
    box.write([A, B, C])

    devices = look(box, "gpu:2,gpu:0,cpu:64")

    assert [(device["key"], device["name"]) for device in devices] == [
        ("gpu-2", "Card C"),
        ("gpu-0", "Card A"),
        ("cpu-0", "CPU slot, 64 MB"),
    ]
    assert not any(device["pinned"] for device in devices)


def test_a_gpu_that_was_asked_for_and_is_not_there_is_shown_with_the_reason(box: FakeNvml, tmp_path: Path) -> None:
    box.write([A, B])

    missing = look(box, "gpu:0,gpu:7")[1]
    hidden = look(box, "gpu:0,gpu:1", CUDA_VISIBLE_DEVICES="0")[1]
    (no_driver,) = look(no_library(tmp_path), "gpu")

    assert (missing["key"], missing["free_bytes"]) == ("gpu-7", 0)
    assert "NVML lists gpu-0, gpu-1" in missing["problem"]
    assert "CUDA_VISIBLE_DEVICES=0 hides it" in hidden["problem"]
    assert "libnvidia-ml" in no_driver["problem"]


def test_the_operators_cuda_visible_devices_is_kept_to_and_the_card_is_named_to_the_trainer(box: FakeNvml) -> None:
    box.write([A, B, C])

    by_number = look(box, CUDA_VISIBLE_DEVICES="2,0")
    by_uuid = look(box, CUDA_VISIBLE_DEVICES=C.uuid)

    assert [gpu["key"] for gpu in by_number] == ["gpu-0", "gpu-2"]
    assert [gpu["uuid"] for gpu in by_uuid] == [C.uuid]
    assert trainer_environment(reading(by_uuid[0])) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": C.uuid,
    }
    assert contract_device(reading(by_uuid[0])) == Device(kind=DeviceKind.GPU, gpu=0)


def test_a_bad_setting_ends_the_command_with_its_message(box: FakeNvml) -> None:
    done = command(box.environment(), "tpu")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("DOWNSHIFT_DEVICES: 'tpu'")


def test_looking_again_sees_what_changed_over_one_connection(box: FakeNvml, watcher: Watcher) -> None:
    box.write([FakeGpu(free_mb=24_000)])
    assert watcher.look()[0]["free_bytes"] == 24_000 * MB

    box.write([FakeGpu(free_mb=1000, processes=[(1, 23_000)])])
    (gpu,) = watcher.look(after=3600)

    assert gpu["free_bytes"] == 1000 * MB
    assert [held["pid"] for held in gpu["processes"]] == [1]
    assert box.calls() == ["open"]


def test_a_reloaded_driver_is_connected_to_again_at_once(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A])
    watcher.look()

    box.write([A], generation=2, driver="570.0")
    (gpu,) = watcher.look(after=0)

    assert (gpu["driver"], gpu["problem"]) == ("570.0", None)
    assert box.calls() == ["open", "close", "open"]


def test_a_driver_that_went_away_leaves_its_gpus_with_a_problem_and_no_cpu_slot(
    box: FakeNvml, watcher: Watcher
) -> None:
    box.write([A, B])
    watcher.look()

    box.write(fails={"*": DRIVER_NOT_LOADED})
    gone = watcher.look()
    for _ in range(5):
        assert watcher.look() == gone
    tries = box.calls().count("open")
    box.write([A, B], generation=2)
    back = watcher.look(after=60)

    assert [(gpu["key"], gpu["uuid"]) for gpu in gone] == [("gpu-0", A.uuid), ("gpu-1", B.uuid)]
    assert all("not loaded" in gpu["problem"] and gpu["free_bytes"] == 0 for gpu in gone)
    assert tries == 2  # opening is dear: not on every look
    assert [(gpu["key"], gpu["problem"]) for gpu in back] == [("gpu-0", None), ("gpu-1", None)]


def test_a_driver_that_goes_away_while_it_is_read_is_the_drivers_problem(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A, B])
    watcher.look()

    box.write([A, FakeGpu(uuid=B.uuid, fails={"nvmlDeviceGetMemoryInfo": DRIVER_NOT_LOADED})])

    assert ["not loaded" in gpu["problem"] for gpu in watcher.look()] == [True, True]
    assert box.calls() == ["open", "close", "open"]


def test_gpus_that_come_later_take_the_place_of_the_cpu_slot(box: FakeNvml, watcher: Watcher) -> None:
    box.write(fails={"nvmlInitWithFlags": DRIVER_NOT_LOADED})
    assert [device["key"] for device in watcher.look()] == ["cpu-0"]

    box.write([A])

    assert [device["key"] for device in watcher.look(after=60)] == ["gpu-0"]


def test_a_lost_gpu_keeps_its_name_and_is_taken_up_again_when_it_is_back(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A, B])
    watcher.look()

    box.write([A, lost(B)])
    gone = watcher.look()[1]
    box.write([A, B], generation=2)
    back = watcher.look(after=60)

    assert (gone["key"], gone["uuid"], gone["name"]) == ("gpu-1", B.uuid, "Card B")
    assert (gone["total_bytes"], gone["free_bytes"]) == (24_576 * MB, 0)
    assert [gpu["problem"] for gpu in back] == [None, None]


def test_while_a_gpu_is_lost_the_connection_is_made_anew_now_and_then(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A, lost(B)])
    for _ in range(10):
        watcher.look(after=1)
    often = box.calls()
    watcher.look(after=15)

    assert often == ["open"]
    assert box.calls() == ["open", "close", "open"]


def test_a_lost_card_that_moved_does_not_take_anothers_name(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A, B])
    watcher.look()

    box.write([lost(B), A], generation=2)
    gpus = {gpu["key"]: gpu for gpu in watcher.look()}

    assert (gpus["gpu-0"]["uuid"], gpus["gpu-0"]["problem"]) == (A.uuid, None)
    assert (gpus["gpu-1"]["uuid"], bool(gpus["gpu-1"]["problem"])) == (B.uuid, True)


def test_when_a_card_falls_out_of_the_list_the_ones_behind_it_keep_their_names(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A, B, C])
    assert not any(gpu["pinned"] for gpu in watcher.look())

    box.write([A, C], generation=2)  # C is NVML's number 1 now
    gpus = watcher.look()

    assert [(gpu["key"], gpu["uuid"]) for gpu in gpus] == [("gpu-0", A.uuid), ("gpu-1", B.uuid), ("gpu-2", C.uuid)]
    assert "no longer" in gpus[1]["problem"]
    assert (gpus[2]["problem"], gpus[2]["index"]) == (None, 1)
    assert trainer_environment(reading(gpus[2]))["CUDA_VISIBLE_DEVICES"] == C.uuid
    assert contract_device(reading(gpus[2])).gpu == 0


def test_a_new_card_in_an_old_ones_place_gets_a_name_of_its_own(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A, B])
    watcher.look()

    box.write([A, C], generation=2)

    assert [(gpu["key"], gpu["uuid"]) for gpu in watcher.look()] == [
        ("gpu-0", A.uuid),
        ("gpu-1", B.uuid),
        ("gpu-2", C.uuid),
    ]


def test_a_card_that_was_lost_from_the_start_is_known_when_it_comes_back(box: FakeNvml, watcher: Watcher) -> None:
    box.write([lost(A), B])
    assert [gpu["uuid"] for gpu in watcher.look()] == [None, B.uuid]

    box.write([A, B])

    assert [(gpu["key"], gpu["uuid"], gpu["problem"]) for gpu in watcher.look()] == [
        ("gpu-0", A.uuid, None),
        ("gpu-1", B.uuid, None),
    ]


def test_a_forked_child_opens_a_connection_of_its_own(box: FakeNvml, watcher: Watcher) -> None:
    box.write([A])
    watcher.look()

    assert watcher.look(forked=True)[0]["problem"] is None
    assert watcher.look()[0]["problem"] is None
    assert box.calls() == ["open", "open"]


def reading(values: dict[str, Any]) -> DeviceReading:
    processes = tuple(HeldBy(**held) for held in values["processes"])
    return DeviceReading(**{**values, "kind": DeviceKind(values["kind"]), "processes": processes})


def test_somebody_elses_processes_are_told_from_ours() -> None:
    stranger, nameless = HeldBy(300, 5 * MB, "python"), HeldBy(400)
    gpu = DeviceReading(
        "gpu-0", DeviceKind.GPU, 0, "Card", 100, 40, processes=(HeldBy(100, 7, "python"), stranger, nameless)
    )

    assert others(gpu, {100, 101}) == [stranger, nameless]


def test_the_trainer_counts_gpus_as_nvml_does() -> None:
    gpu = DeviceReading("gpu-1", DeviceKind.GPU, 1, "Card", 100, 40, uuid="GPU-1")

    assert trainer_environment(gpu) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert contract_device(gpu, async_allocator=True) == Device(kind=DeviceKind.GPU, gpu=1, async_allocator=True)


def test_a_slots_limit_reaches_the_trainer() -> None:
    slot = DeviceReading("cpu-0", DeviceKind.CPU, 0, "CPU slot", 2048 * MB, 100 * MB)

    assert trainer_environment(slot) == {}
    assert contract_device(slot, async_allocator=True) == Device(memory_limit_mb=2048)
