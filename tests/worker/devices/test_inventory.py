"""The inventory of devices. NVML is a fake library; everything above it, including the Python binding, is real.

The binding loads the library when its process starts, so each test reads the devices in a child process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
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
    FakeInstance,
    FakeNvml,
    no_library,
)
from worker.devices import DeviceReading, contract_device, processes_of_others, trainer_environment
from worker.devices.readings import MemoryHolder

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


def clean_environment(environment: dict[str, str]) -> dict[str, str]:
    ours = ("DOWNSHIFT_", "CUDA_", "FAKE_NVML_", "LD_LIBRARY_PATH")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, **environment}


def command(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "worker.devices", *arguments]
    return subprocess.run(
        words, cwd=ROOT, env=clean_environment(environment), capture_output=True, text=True, check=False
    )


def read_devices(box: FakeNvml | dict[str, str], *arguments: str, **environment: str) -> list[dict[str, Any]]:
    """What `python -m worker.devices` prints."""
    library = box.environment() if isinstance(box, FakeNvml) else box
    done = command({**library, **environment}, *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


READER = """
import dataclasses, json, os, sys
from worker.devices import Devices, parse_devices
from worker.devices.gpu.nvml import Nvml

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


class DeviceReader:
    """A process that keeps one `Devices` and reads it on request, with a clock that the test moves."""

    def __init__(self, box: FakeNvml, setting: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", READER, setting],
            cwd=ROOT,
            env=clean_environment(box.environment()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self, *, after: float = 1.0, forked: bool = False) -> list[dict[str, Any]]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("fork\n" if forked else f"{after}\n")
        self._process.stdin.flush()
        readings: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return readings

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture
def reader(box: FakeNvml) -> Iterator[DeviceReader]:
    reader = DeviceReader(box, "auto")
    yield reader
    reader.close()


def test_a_gpu_is_listed_with_everything_that_the_driver_reports(box: FakeNvml) -> None:
    pid = os.getpid()
    box.write(
        [
            FakeGpu(
                uuid="GPU-1",
                name="NVIDIA GeForce RTX 3090",
                total_mb=24_576,
                free_mb=9000,
                utilisation=87,
                temperature=71,
                processes=[(pid, 15_000)],
                ecc=0,
                rows=(0, 0, 0, 0),
            )
        ],
        driver="560.35.03",
    )

    assert read_devices(box) == [
        {
            "key": "gpu-0",
            "kind": "gpu",
            "index": 0,
            "name": "NVIDIA GeForce RTX 3090",
            "total_bytes": 24_576 * MB,
            "free_bytes": 9000 * MB,
            "utilisation": 87,
            "temperature": 71,
            "processes": [{"pid": pid, "used_bytes": 15_000 * MB, "name": name_of_this_process(), "is_display": False}],
            "bfloat16": True,
            "uuid": "GPU-1",
            "driver": "560.35.03",
            "capability": [8, 6],
            "health": {
                "uncorrected_errors": 0,
                "remapped_rows": 0,
                "retired_pages": None,
                "repair_pending": False,
                "remap_failed": False,
                "slowed_by": [],
                "xid": None,
            },
            "problem": None,
        }
    ]


def name_of_this_process() -> str:
    return Path("/proc/self/comm").read_text().strip()


@pytest.mark.parametrize(("capability", "bfloat16"), [((7, 5), False), ((8, 0), True), ((12, 0), True), (None, False)])
def test_bfloat16_is_offered_from_ampere_on(box: FakeNvml, capability: tuple[int, int] | None, bfloat16: bool) -> None:
    box.write([FakeGpu(capability=capability)])

    assert read_devices(box)[0]["bfloat16"] is bfloat16


def test_values_that_a_card_does_not_report_are_unknown_and_not_a_problem(box: FakeNvml) -> None:
    silent = {
        "nvmlDeviceGetName": UNKNOWN,
        "nvmlDeviceGetComputeRunningProcesses_v3": NOT_SUPPORTED,
        "nvmlDeviceGetGraphicsRunningProcesses_v3": NOT_SUPPORTED,
    }
    box.write(
        [FakeGpu(utilisation=None, temperature=None, capability=None, fails=silent)],
        fails={"nvmlSystemGetDriverVersion": UNKNOWN},
    )

    (gpu,) = read_devices(box)

    assert (gpu["utilisation"], gpu["temperature"], gpu["driver"]) == (None, None, None)
    assert (gpu["name"], gpu["processes"], gpu["problem"]) == ("GPU 0", [], None)
    assert gpu["free_bytes"] == 24_000 * MB


def test_an_older_driver_is_asked_for_the_temperature_with_the_older_function(box: FakeNvml) -> None:
    box.write([FakeGpu(temperature=66, fails={"nvmlDeviceGetTemperatureV": FUNCTION_NOT_FOUND})])

    assert read_devices(box)[0]["temperature"] == 66


def test_compute_and_graphics_processes_are_listed_once_with_or_without_a_name(box: FakeNvml) -> None:
    unknown = 2**22 + 5  # above the largest possible pid: like the host's pids in a container, it names no process here
    box.write([FakeGpu(processes=[(unknown, None), (1, 700)], graphics=[(1, None), (unknown + 1, 5)])])

    (gpu,) = read_devices(box)

    assert [(held["pid"], held["used_bytes"]) for held in gpu["processes"]] == [
        (unknown, None),
        (1, 700 * MB),
        (unknown + 1, 5 * MB),
    ]
    assert gpu["processes"][0]["name"] is None
    assert gpu["processes"][1]["name"] is not None


def test_all_processes_are_listed_even_if_the_bindings_first_buffer_is_too_small(box: FakeNvml) -> None:
    box.write([FakeGpu(processes=[(pid, 1) for pid in range(1, 41)])])

    assert len(read_devices(box)[0]["processes"]) == 40


def test_a_lost_gpu_does_not_hide_the_others(box: FakeNvml) -> None:
    box.write([A, lost(B), C])

    gpus = read_devices(box)

    assert [gpu["key"] for gpu in gpus] == ["gpu-0", "gpu-1", "gpu-2"]
    assert [bool(gpu["problem"]) for gpu in gpus] == [False, True, False]
    assert "lost" in gpus[1]["problem"]
    assert gpus[1]["free_bytes"] == 0
    assert gpus[2]["free_bytes"] == 24_000 * MB


def test_a_gpu_that_is_lost_during_the_read_has_that_problem(box: FakeNvml) -> None:
    box.write([FakeGpu(fails={"nvmlDeviceGetUtilizationRates": GPU_IS_LOST})])

    (gpu,) = read_devices(box)

    assert "lost" in gpu["problem"]
    assert gpu["free_bytes"] == 0


def test_a_gpu_whose_memory_cannot_be_read_is_not_offered(box: FakeNvml) -> None:
    box.write([FakeGpu(uuid="GPU-9", fails={"nvmlDeviceGetMemoryInfo": NOT_SUPPORTED})])

    (gpu,) = read_devices(box)

    assert gpu["uuid"] == "GPU-9"
    assert "memory" in gpu["problem"]


def mig(*instances: FakeInstance, **values: Any) -> FakeGpu:
    return FakeGpu(uuid=A.uuid, name="NVIDIA Fake A100", mig=True, instances=instances, **values)


ONE, TWO = (FakeInstance(index, f"MIG-{index}{index}", processes=[(1, 700)]) for index in (1, 4))


def test_a_gpu_with_mig_on_and_no_instance_is_not_offered(box: FakeNvml) -> None:
    box.write([mig(), FakeGpu(uuid="GPU-2", mig=False)])

    first, second = read_devices(box)

    assert "no instance" in first["problem"]
    assert first["free_bytes"] == 0
    assert second["problem"] is None


def test_mig_instances_are_devices_in_place_of_their_gpu(box: FakeNvml) -> None:
    box.write([mig(ONE, TWO, temperature=50), B])

    one, two, other = read_devices(box)

    assert [device["key"] for device in (one, two, other)] == ["gpu-0-mig-1", "gpu-0-mig-4", "gpu-1"]
    assert (one["uuid"], one["name"], one["index"]) == ("MIG-11", "NVIDIA Fake A100 MIG 1g.10gb", 0)
    assert (one["total_bytes"], one["free_bytes"]) == (9728 * MB, 9700 * MB)
    assert (one["capability"], one["bfloat16"], one["temperature"], one["utilisation"]) == ([8, 6], True, 50, None)
    assert [held["used_bytes"] for held in one["processes"]] == [700 * MB]
    assert trainer_environment(reading(two))["CUDA_VISIBLE_DEVICES"] == "MIG-44"


def test_the_setting_names_instances_or_a_gpu_with_all_of_them(box: FakeNvml) -> None:
    box.write([mig(ONE, TWO), B])

    assert [device["key"] for device in read_devices(box, "gpu:0")] == ["gpu-0-mig-1", "gpu-0-mig-4"]
    assert [device["key"] for device in read_devices(box, "gpu:0:4,gpu:1")] == ["gpu-1", "gpu-0-mig-4"]
    assert [device["key"] for device in read_devices(box, CUDA_VISIBLE_DEVICES="MIG-44")] == ["gpu-0-mig-4"]
    (missing,) = read_devices(box, "gpu:0:2")
    assert (missing["key"], missing["name"]) == ("gpu-0-mig-2", "GPU 0 MIG 2")
    assert "NVML lists gpu-0-mig-1, gpu-0-mig-4, gpu-1" in missing["problem"]


def test_an_instance_keeps_its_name_and_a_deleted_one_goes(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([mig(ONE, TWO)])
    reader.read()
    moved = FakeInstance(1, TWO.uuid)  # NVML's number of the other one
    box.write([mig(moved, FakeInstance(2, "MIG-new"))])

    assert [(gpu["key"], gpu["uuid"]) for gpu in reader.read()] == [
        ("gpu-0-mig-2", "MIG-new"),
        ("gpu-0-mig-4", TWO.uuid),
    ]


def test_when_the_gpu_is_lost_its_instances_have_the_problem(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([mig(ONE, TWO)])
    reader.read()
    box.write([lost(A)])
    gone = reader.read()
    box.write([mig(ONE, TWO)], generation=2)
    back = reader.read(after=60)

    assert [gpu["key"] for gpu in gone] == [gpu["key"] for gpu in back] == ["gpu-0-mig-1", "gpu-0-mig-4"]
    assert all("lost" in gpu["problem"] for gpu in gone)
    assert [gpu["problem"] for gpu in back] == [None, None]


def test_health_is_read_as_far_as_the_card_reports_it(box: FakeNvml) -> None:
    old = FakeGpu(uuid="GPU-2", ecc=0, retired=(3, 1), throttle=0x1 | 0x40 | 0x4)
    box.write([FakeGpu(), old, FakeGpu(uuid="GPU-3", rows=(2, 1, 1, 0))])

    silent, worn, remapped = (device["health"] for device in read_devices(box))

    assert silent == {
        "uncorrected_errors": None,
        "remapped_rows": None,
        "retired_pages": None,
        "repair_pending": False,
        "remap_failed": False,
        "slowed_by": [],
        "xid": None,
    }
    assert (worn["uncorrected_errors"], worn["retired_pages"], worn["repair_pending"]) == (0, 3, True)
    assert worn["slowed_by"] == ["heat (hardware)"]  # idle, and a power cap, are no fault
    assert (remapped["remapped_rows"], remapped["repair_pending"]) == (3, True)


def test_uncorrectable_errors_and_a_failed_remapping_keep_jobs_away(box: FakeNvml) -> None:
    box.write([FakeGpu(ecc=2), FakeGpu(uuid="GPU-2", rows=(0, 9, 0, 1)), FakeGpu(uuid="GPU-3", ecc=0)])

    broken, worn, good = read_devices(box)

    assert "2 uncorrectable errors" in broken["problem"]
    assert "gpu-reset" in broken["problem"]
    assert broken["free_bytes"] == 24_000 * MB  # it can be read
    assert "row remapping failed" in worn["problem"]
    assert good["problem"] is None


def test_an_xid_is_shown_for_its_card_if_it_came_after_the_first_read(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, replace(B, xid=(1, 31))])  # before anyone listened
    before = reader.read()
    box.write([replace(A, xid=(1, 48)), replace(B, xid=(1, 31))])
    seen = reader.read()
    box.write([replace(A, xid=(2, 79), fails={"*": GPU_IS_LOST}), replace(B, xid=(1, 31))])
    lost = reader.read()

    assert [gpu["health"]["xid"] for gpu in before] == [None, None]
    assert seen[0]["health"]["xid"]["code"] == 48
    assert "memory error" in seen[0]["health"]["xid"]["meaning"]
    assert seen[1]["health"]["xid"] is None
    assert "lost" in lost[0]["problem"]


def test_a_driver_without_events_still_reports_its_gpus(box: FakeNvml) -> None:
    box.write([A], fails={"nvmlEventSetCreate": NOT_SUPPORTED})
    (gpu,) = read_devices(box)
    assert (gpu["problem"], gpu["health"]["xid"]) == (None, None)


@pytest.mark.parametrize("failing", ["no library", "no driver", "no GPU", "hidden"])
def test_without_a_gpu_there_is_one_cpu_slot(box: FakeNvml, tmp_path: Path, failing: str) -> None:
    environment = {}
    if failing == "no driver":
        box.write([A], fails={"nvmlInitWithFlags": DRIVER_NOT_LOADED})
    if failing == "hidden":
        box.write([A])
        environment = {"CUDA_VISIBLE_DEVICES": "-1"}

    (slot,) = read_devices(no_library(tmp_path) if failing == "no library" else box, **environment)

    assert (slot["key"], slot["kind"], slot["index"]) == ("cpu-0", "cpu", 0)
    assert slot["total_bytes"] % (256 * MB) == 0
    assert slot["total_bytes"] >= 512 * MB
    assert 0 < slot["free_bytes"] <= slot["total_bytes"]
    assert slot["bfloat16"] is False
    assert slot["problem"] is None


def test_the_command_prints_why_there_is_no_gpu(tmp_path: Path) -> None:
    done = command(no_library(tmp_path))

    assert done.returncode == 0
    assert "libnvidia-ml.so.1 is missing" in done.stderr


def test_cpu_slots_are_numbered_and_have_the_size_of_the_setting(box: FakeNvml) -> None:
    box.write([A])

    slots = read_devices(box, DOWNSHIFT_DEVICES="cpu:64,cpu:16000000")

    assert [slot["key"] for slot in slots] == ["cpu-0", "cpu-1"]
    assert [slot["total_bytes"] for slot in slots] == [64 * MB, 16_000_000 * MB]
    assert slots[0]["free_bytes"] == 64 * MB
    assert slots[1]["free_bytes"] < slots[1]["total_bytes"]  # the host has less
    assert box.calls() == []  # the setting names no GPU


def test_only_the_named_gpus_are_used(box: FakeNvml) -> None:
    box.write([A, B, C])

    devices = read_devices(box, "gpu:2,gpu:0,cpu:64")

    assert [(device["key"], device["name"]) for device in devices] == [
        ("gpu-2", "Card C"),
        ("gpu-0", "Card A"),
        ("cpu-0", "CPU slot, 64 MB"),
    ]


def test_a_named_gpu_that_is_missing_is_listed_with_the_reason(box: FakeNvml, tmp_path: Path) -> None:
    box.write([A, B])

    missing = read_devices(box, "gpu:0,gpu:7")[1]
    hidden = read_devices(box, "gpu:0,gpu:1", CUDA_VISIBLE_DEVICES="0")[1]
    (no_driver,) = read_devices(no_library(tmp_path), "gpu")

    assert (missing["key"], missing["free_bytes"]) == ("gpu-7", 0)
    assert "NVML lists gpu-0, gpu-1" in missing["problem"]
    assert "CUDA_VISIBLE_DEVICES=0 hides it" in hidden["problem"]
    assert "libnvidia-ml" in no_driver["problem"]


def test_cuda_visible_devices_is_respected_and_the_trainer_gets_the_cards_uuid(box: FakeNvml) -> None:
    box.write([A, B, C])

    by_number = read_devices(box, CUDA_VISIBLE_DEVICES="2,0")
    by_uuid = read_devices(box, CUDA_VISIBLE_DEVICES=C.uuid)

    assert [gpu["key"] for gpu in by_number] == ["gpu-0", "gpu-2"]
    assert [gpu["uuid"] for gpu in by_uuid] == [C.uuid]
    assert trainer_environment(reading(by_uuid[0])) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": C.uuid,
    }
    assert contract_device(reading(by_uuid[0]), async_allocator=False).gpu == 0


def test_a_bad_setting_ends_the_command_with_its_message(box: FakeNvml) -> None:
    done = command(box.environment(), "tpu")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("DOWNSHIFT_DEVICES: 'tpu'")


def test_later_reads_use_one_connection_and_return_new_values(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([FakeGpu(free_mb=24_000)])
    assert reader.read()[0]["free_bytes"] == 24_000 * MB

    box.write([FakeGpu(free_mb=1000, processes=[(1, 23_000)])])
    (gpu,) = reader.read(after=3600)

    assert gpu["free_bytes"] == 1000 * MB
    assert [held["pid"] for held in gpu["processes"]] == [1]
    assert box.calls() == ["open"]


def test_after_the_driver_was_reloaded_the_next_read_reconnects(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A])
    reader.read()

    box.write([A], generation=2, driver="570.0")
    (gpu,) = reader.read(after=0)

    assert (gpu["driver"], gpu["problem"]) == ("570.0", None)
    assert box.calls() == ["open", "close", "open"]


def test_without_the_driver_known_gpus_have_a_problem_and_no_cpu_slot_is_offered(
    box: FakeNvml, reader: DeviceReader
) -> None:
    box.write([A, B])
    reader.read()

    box.write(fails={"*": DRIVER_NOT_LOADED})
    gone = reader.read()
    for _ in range(5):
        assert reader.read() == gone
    tries = box.calls().count("open")
    box.write([A, B], generation=2)
    back = reader.read(after=60)

    assert [(gpu["key"], gpu["uuid"]) for gpu in gone] == [("gpu-0", A.uuid), ("gpu-1", B.uuid)]
    assert all("not loaded" in gpu["problem"] and gpu["free_bytes"] == 0 for gpu in gone)
    assert tries == 2  # opening is expensive: not at every read
    assert [(gpu["key"], gpu["problem"]) for gpu in back] == [("gpu-0", None), ("gpu-1", None)]


def test_a_driver_that_is_unloaded_during_a_read_is_a_problem_of_all_gpus(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, B])
    reader.read()

    box.write([A, FakeGpu(uuid=B.uuid, fails={"nvmlDeviceGetMemoryInfo": DRIVER_NOT_LOADED})])

    assert ["not loaded" in gpu["problem"] for gpu in reader.read()] == [True, True]
    assert box.calls() == ["open", "close", "open"]


def test_gpus_that_appear_later_replace_the_cpu_slot(box: FakeNvml, reader: DeviceReader) -> None:
    box.write(fails={"nvmlInitWithFlags": DRIVER_NOT_LOADED})
    assert [device["key"] for device in reader.read()] == ["cpu-0"]

    box.write([A])

    assert [device["key"] for device in reader.read(after=60)] == ["gpu-0"]


def test_a_lost_gpu_keeps_its_name_and_is_offered_again_when_it_is_back(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, B])
    reader.read()

    box.write([A, lost(B)])
    gone = reader.read()[1]
    box.write([A, B], generation=2)
    back = reader.read(after=60)

    assert (gone["key"], gone["uuid"], gone["name"]) == ("gpu-1", B.uuid, "Card B")
    assert (gone["total_bytes"], gone["free_bytes"]) == (24_576 * MB, 0)
    assert [gpu["problem"] for gpu in back] == [None, None]


def test_while_a_gpu_is_lost_reads_reconnect_every_15_seconds(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, lost(B)])
    for _ in range(10):
        reader.read(after=1)
    within_10_s = box.calls()
    reader.read(after=15)

    assert within_10_s == ["open"]
    assert box.calls() == ["open", "close", "open"]


def test_a_lost_card_that_nvml_renumbered_does_not_get_the_name_of_another(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, B])
    reader.read()

    box.write([lost(B), A], generation=2)
    gpus = {gpu["key"]: gpu for gpu in reader.read()}

    assert (gpus["gpu-0"]["uuid"], gpus["gpu-0"]["problem"]) == (A.uuid, None)
    assert (gpus["gpu-1"]["uuid"], bool(gpus["gpu-1"]["problem"])) == (B.uuid, True)


def test_when_nvml_no_longer_lists_a_card_later_cards_keep_their_names(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, B, C])
    reader.read()

    box.write([A, C], generation=2)  # C is NVML's number 1 now
    gpus = reader.read()

    assert [(gpu["key"], gpu["uuid"]) for gpu in gpus] == [("gpu-0", A.uuid), ("gpu-1", B.uuid), ("gpu-2", C.uuid)]
    assert "no longer" in gpus[1]["problem"]
    assert (gpus[2]["problem"], gpus[2]["index"]) == (None, 1)
    assert trainer_environment(reading(gpus[2]))["CUDA_VISIBLE_DEVICES"] == C.uuid
    assert contract_device(reading(gpus[2]), async_allocator=False).gpu == 0


def test_a_new_card_with_the_nvml_number_of_an_old_one_gets_a_new_name(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A, B])
    reader.read()

    box.write([A, C], generation=2)

    assert [(gpu["key"], gpu["uuid"]) for gpu in reader.read()] == [
        ("gpu-0", A.uuid),
        ("gpu-1", B.uuid),
        ("gpu-2", C.uuid),
    ]


def test_a_card_that_was_lost_from_the_start_is_identified_when_it_comes_back(
    box: FakeNvml, reader: DeviceReader
) -> None:
    box.write([lost(A), B])
    assert [gpu["uuid"] for gpu in reader.read()] == [None, B.uuid]

    box.write([A, B])

    assert [(gpu["key"], gpu["uuid"], gpu["problem"]) for gpu in reader.read()] == [
        ("gpu-0", A.uuid, None),
        ("gpu-1", B.uuid, None),
    ]


def test_a_forked_child_opens_its_own_connection(box: FakeNvml, reader: DeviceReader) -> None:
    box.write([A])
    reader.read()

    assert reader.read(forked=True)[0]["problem"] is None
    assert reader.read()[0]["problem"] is None
    assert box.calls() == ["open", "open"]


def reading(values: dict[str, Any]) -> DeviceReading:
    processes = tuple(MemoryHolder(**held) for held in values["processes"])
    return DeviceReading(**{**values, "kind": DeviceKind(values["kind"]), "processes": processes})


def test_processes_of_others_are_told_apart_from_ours() -> None:
    theirs, nameless = MemoryHolder(300, 5 * MB, "python"), MemoryHolder(400)
    gpu = DeviceReading(
        "gpu-0", DeviceKind.GPU, 0, "Card", 100, 40, processes=(MemoryHolder(100, 7, "python"), theirs, nameless)
    )

    assert processes_of_others(gpu, {100, 101}) == [theirs, nameless]


def test_the_trainer_sees_its_gpu_alone_by_uuid() -> None:
    gpu = DeviceReading("gpu-1", DeviceKind.GPU, 1, "Card", 100, 40, uuid="GPU-1", capability=(8, 6))

    assert trainer_environment(gpu) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "GPU-1"}
    pinned = {"reserve_mb": 1536, "workspace_mb": 512}
    assert contract_device(gpu, async_allocator=True) == Device(DeviceKind.GPU, async_allocator=True, **pinned)


def test_a_gpu_without_a_uuid_is_shown_by_its_nvml_number() -> None:
    gpu = DeviceReading("gpu-1", DeviceKind.GPU, 1, "Card", 100, 40)

    assert trainer_environment(gpu) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}
    assert contract_device(gpu, async_allocator=False).gpu == 0


def test_the_trainer_gets_the_slots_limit() -> None:
    slot = DeviceReading("cpu-0", DeviceKind.CPU, 0, "CPU slot", 2048 * MB, 100 * MB)

    assert trainer_environment(slot) == {}
    assert contract_device(slot, async_allocator=True) == Device(memory_limit_mb=2048)
