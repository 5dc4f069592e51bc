"""The cores that this host lets us use, read from the kernel's files; the tests write these files themselves."""

import os
from pathlib import Path

import pytest

from worker.devices.host_cores import usable_cores


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 16),
        ({"box": "max 100000"}, 16),
        ({"box": "400000 100000"}, 4),
        ({"box": "max 100000", "": "250000 100000"}, 2),
        ({"box": "50000 100000"}, 1),  # half a core
        ({"box": "9900000 100000"}, 16),  # a quota above what the process may run on
        ({"box": "?"}, 16),
    ],
)
def test_the_smallest_quota_of_a_group_counts(
    files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/box\n")
    for group, text in files.items():
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(f"{text}\n")

    assert usable_cores(tmp_path) == cores
