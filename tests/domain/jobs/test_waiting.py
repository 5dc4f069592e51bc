"""What a queued job waits for: each kind survives its JSON form, and the sentence is made from the data alone."""

import dataclasses
import datetime
import json

import pytest

from services.domain.jobs.waiting import Holder, WaitedDevice, Waiting, WaitKind

GPU = WaitedDevice("box/gpu-0", "GPU 0", 8192 * 2**20)
CPU = WaitedDevice("box/cpu-0", "CPU slot", 0)
PROCESSES = ({"pid": 4711, "name": "python", "used_bytes": 5000 * 2**20},)
NOW = datetime.datetime(2026, 11, 18, 12, tzinfo=datetime.UTC)

EACH_KIND = {
    WaitKind.FREE_DEVICE: (Waiting(WaitKind.FREE_DEVICE), "Waits for a free device"),
    WaitKind.BUSY_DEVICE: (
        Waiting(WaitKind.BUSY_DEVICE, GPU, Holder(7), others=2),
        "Waits for GPU 0 (box/gpu-0, 8192 MB), busy with job 7, or for one of 2 others",
    ),
    WaitKind.FREE_MEMORY: (
        Waiting(WaitKind.FREE_MEMORY, GPU, Holder(processes=PROCESSES), free_bytes=3000 * 2**20),
        "Waits for a device with enough free memory: GPU 0 has 3000 MB free, "
        "python (process 4711) holds 5000 MB of GPU 0",
    ),
    WaitKind.DEVICE_SIZE: (
        Waiting.for_size(9000 * 2**20),
        "Waits for a device with at least 9000 MB of memory",
    ),
    WaitKind.LARGER_DEVICE: (
        Waiting(WaitKind.LARGER_DEVICE, detail="It needs 9000 MB."),
        "Waits for a larger device. It needs 9000 MB.",
    ),
    WaitKind.HOST: (Waiting(WaitKind.HOST, GPU), "Waits for box/gpu-0: its host has not reported lately"),
    WaitKind.REPAIR: (
        Waiting(WaitKind.REPAIR, CPU, detail="it is broken"),
        "Waits for CPU slot (box/cpu-0): it is broken",
    ),
    WaitKind.DISK_SPACE: (
        Waiting(WaitKind.DISK_SPACE, detail="the disk is full", until=NOW),
        "the disk is full",
    ),
    WaitKind.ACCOUNT: (Waiting(WaitKind.ACCOUNT, user="anna"), "The account of anna is disabled"),
    WaitKind.DEVICE_HOURS: (
        Waiting(WaitKind.DEVICE_HOURS, user="anna", used=10.02, limit=10),
        "anna has used 10.0 of 10 device hours in the last seven days",
    ),
    WaitKind.RUNNING_JOBS: (
        Waiting(WaitKind.RUNNING_JOBS, user="anna", used=0, limit=0),
        "anna already runs 0 of 0 allowed jobs",
    ),
}


@pytest.mark.parametrize("kind", list(WaitKind))
def test_every_kind_has_a_sentence_and_survives_its_json(kind: WaitKind) -> None:
    waiting, sentence = EACH_KIND[kind]
    waiting = dataclasses.replace(waiting, since=NOW)
    read = Waiting.from_dict(json.loads(json.dumps(waiting.to_dict())))
    assert read == waiting
    assert read.sentence == sentence


def test_the_short_sentence_leaves_out_ids_and_sizes() -> None:
    assert Waiting(WaitKind.BUSY_DEVICE, GPU, Holder(7)).short == "Waits for GPU 0, busy with job 7"
    assert EACH_KIND[WaitKind.REPAIR][0].short == "Waits for CPU slot: it is broken"


def test_the_job_of_another_user_may_stay_hidden() -> None:
    assert Waiting(WaitKind.BUSY_DEVICE, GPU, Holder(None)).short == "Waits for GPU 0, busy with another user's job"


def test_a_row_of_a_newer_version_can_be_read() -> None:
    read = Waiting.from_dict({"kind": "moonlight", "detail": "Waits for the moon", "phase": "full"})
    assert (read.kind, read.sentence) == (WaitKind.FREE_DEVICE, "Waits for the moon")
    wider = Waiting(WaitKind.HOST, GPU).to_dict()
    wider["device"]["colour"] = "green"
    assert Waiting.from_dict(wider) == Waiting(WaitKind.HOST, GPU)


@pytest.mark.parametrize("damaged", [{}, {"kind": 7}, {"kind": "host", "device": 3}, {"kind": "host", "since": "soon"}])
def test_a_damaged_row_can_be_read(damaged: dict[str, object]) -> None:
    assert Waiting.from_dict(damaged) == Waiting(WaitKind.FREE_DEVICE)


def test_free_memory_that_changes_is_the_same_wait_and_another_device_or_job_is_not() -> None:
    memory = EACH_KIND[WaitKind.FREE_MEMORY][0]
    assert memory.is_same(dataclasses.replace(memory, free_bytes=2900 * 2**20, since=NOW))
    assert not memory.is_same(dataclasses.replace(memory, device=CPU))
    assert not memory.is_same(None)
    busy = Waiting(WaitKind.BUSY_DEVICE, GPU, Holder(7))
    assert not busy.is_same(dataclasses.replace(busy, holder=Holder(8)))
    broken = EACH_KIND[WaitKind.REPAIR][0]
    assert not broken.is_same(dataclasses.replace(broken, detail="it is gone"))
    held = dataclasses.replace(broken, detail="200 MB are in use")
    assert held.is_same(dataclasses.replace(held, detail="1,900 MB are in use"))
