"""A trainer that runs out of host memory: the kernel's counter shows it, and the input pipeline is made smaller.

The limit is that of a memory control group. A limit of the address space or the data segment would not do: TensorFlow's
readers do not check whether an allocation succeeded, and crash with a segmentation fault.
"""

import contextlib
import json
import os
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import addresses
from launcher.demo.service import serving
from services.datasets import examples, records, shapes
from services.datasets.checksum import masked_crc32c
from services.datasets.dataset import MANIFEST_FILE, read_manifest
from services.settings import Settings
from tests.e2e.test_training import until_state
from worker.devices.host_memory import memory_groups

pytestmark = pytest.mark.tensorflow

MB = 2**20
RECORDS, RECORD_MB = 320, 3  # the service sizes the shuffle buffer by the host: nearly 1 GB
GROUP_MB = 2300  # training needs 1,900 MB without its shuffle buffer


@pytest.fixture
def group() -> Iterator[Path]:
    """A memory control group below our own, with a limit and no swap."""
    for version, folders in memory_groups():
        folder = folders[0] / f"downshift-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            try:
                (folder / version.limits[0]).write_text(str(GROUP_MB * MB))
                for name, value in (("memory.memsw.limit_in_bytes", GROUP_MB * MB), ("memory.swap.max", 0)):
                    with contextlib.suppress(OSError):
                        (folder / name).write_text(str(value))
                yield folder
                return
            finally:
                _remove(folder)
    pytest.skip("no memory control group can be created (that needs root, or a delegated group)")


def _remove(folder: Path) -> None:
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def large_records(folder: Path) -> None:
    """The sample dataset with padding in its records, which no detector reads but the shuffle buffer holds."""
    dataset = shapes.generate(folder, train=4, validation=2, seed=1)
    padding = os.urandom(RECORD_MB * MB)
    for file in dataset.train_files:
        frames = [_frame(_padded(record.payload, padding)) for record in records.read(file)]
        copies = RECORDS // len(dataset.train_files) // len(frames)
        with file.open("wb") as output:
            for _ in range(copies):
                output.writelines(frames)
    manifest = dict(read_manifest(folder))
    manifest["train"] |= {"images": RECORDS, "bytes": sum(file.stat().st_size for file in dataset.train_files)}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


def _padded(payload: bytes, padding: bytes) -> bytes:
    """Concatenated protocol buffer messages are one merged message."""
    return payload + examples.encode(byte_lists={"image/raw": [padding]})


def _frame(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    sums = [struct.pack("<I", masked_crc32c(part)) for part in (length, payload)]
    return length + sums[0] + payload + sums[1]


@pytest.mark.timeout(1500)
def test_a_trainer_that_runs_out_of_host_memory_gets_a_smaller_input_pipeline(tmp_path: Path, group: Path) -> None:
    home = tmp_path / "home"
    large_records(home / "datasets" / "shapes")
    settings = Settings(
        home=home,
        devices="cpu:3000",
        bind=addresses.free_bind(("127.0.0.1", 0)),
        min_free_disk_mb=1,
        trainer=f"""sh -c 'echo $$ > {group}/cgroup.procs && exec {sys.executable} -m worker.trainer "$0"'""",
    )
    request = {
        "dataset": "shapes",
        "model": "efficientdet_d0",
        "image_size": [256, 256],
        "train": {"steps": 2, "batch_size": 2},
        "policy": {"plan_ahead": False},
    }
    with serving(settings) as api:
        job_id = api.post("/v1/jobs", request)["id"]
        job = until_state(api, job_id, "succeeded")
        first, *_, last = attempts = api.get(f"/v1/jobs/{job_id}/attempts")["items"]
        assert [attempt["diagnosis"] for attempt in attempts[:-1]] == ["host"] * (len(attempts) - 1)
        assert len(attempts) > 1
        assert last["diagnosis"] == "completed"
        assert last["adjustments"]["shuffle_buffer_size"] <= RECORDS // 8
        assert first["plan"] == last["plan"] == job["plan"] == job["asked"]
        changed = {change["field"] for change in last["changes"]}
        assert "train_input_reader.shuffle_buffer_size" in changed
        assert all(field.startswith("train_input_reader.") for field in changed)
        assert "smaller input pipeline" in first["followed_by"]
