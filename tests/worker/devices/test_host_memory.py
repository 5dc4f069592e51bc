"""Available host memory, read from the kernel's files; the tests write these files themselves."""

import os
from pathlib import Path

import pytest

from worker.devices import Devices, parse_devices
from worker.devices.gpu.nvml import Gpu, NvmlUnavailable
from worker.devices.host_memory import available_bytes, slot_bytes
from worker.devices.processes import name_of, with_descendants

MB = 2**20
UNLIMITED = "9223372036854771712"  # the value of version 1 without a limit


def host(root: Path, available_mb: int, files: dict[str, str]) -> Path:
    meminfo = f"MemTotal: {64 * 2**20} kB\nMemFree: 1 kB\nMemAvailable: {available_mb * 1024} kB\n"
    for name, text in {"proc/meminfo": meminfo, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_without_control_groups_meminfo_decides(tmp_path: Path) -> None:
    assert available_bytes(host(tmp_path, 9000, {})) == 9000 * MB


def test_a_groups_limit_minus_its_usage_is_available(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/system.slice/downshift.service"
    files = {
        "proc/self/cgroup": "0::/system.slice/downshift.service\n",
        f"{group}/memory.max": f"{4000 * MB}\n",
        f"{group}/memory.high": "max\n",
        f"{group}/memory.current": f"{1500 * MB}\n",
        f"{group}/memory.stat": f"anon {1000 * MB}\ninactive_file {500 * MB}\n",
    }

    assert available_bytes(host(tmp_path, 9000, files)) == 3000 * MB


def test_a_limit_of_a_parent_group_counts_too(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/team/downshift\n",
        "sys/fs/cgroup/team/downshift/memory.max": "max\n",
        "sys/fs/cgroup/team/memory.max": f"{2000 * MB}\n",
        "sys/fs/cgroup/team/memory.high": f"{1800 * MB}\n",
        "sys/fs/cgroup/team/memory.current": f"{300 * MB}\n",
    }

    assert available_bytes(host(tmp_path, 9000, files)) == 1500 * MB


def test_a_version_1_limit_counts_beside_a_version_2_group_without_one(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "9:cpu,cpuacct:/box\n4:memory:/box\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED,
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": str(1000 * MB),
        "sys/fs/cgroup/memory/box/memory.usage_in_bytes": str(700 * MB),
        "sys/fs/cgroup/memory/box/memory.stat": f"inactive_file 0\ntotal_inactive_file {100 * MB}\n",
    }

    assert available_bytes(host(tmp_path, 9000, files)) == 400 * MB


@pytest.mark.parametrize("path", ["/docker/0123", "/../../docker/0123", "/"])
def test_in_a_container_the_group_is_read_at_the_mount(tmp_path: Path, path: str) -> None:
    files = {"proc/self/cgroup": f"0::{path}\n", "sys/fs/cgroup/memory.max": str(600 * MB)}

    assert available_bytes(host(tmp_path, 9000, files)) == 600 * MB


def test_a_group_above_its_limit_leaves_0_bytes(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": str(100 * MB),
        "sys/fs/cgroup/memory.current": str(150 * MB),
    }

    assert available_bytes(host(tmp_path, 9000, files)) == 0


def test_available_memory_of_this_host_can_be_read() -> None:
    assert 0 < available_bytes() < 2**50


@pytest.mark.parametrize(
    ("available_mb", "slot_mb"),
    [(10_240, 7168), (10_600, 7168), (10_610, 7424), (0, 512), (1000, 512), (1100, 768)],
)
def test_an_automatic_slot_leaves_30_percent_and_has_at_least_512_mb(available_mb: int, slot_mb: int) -> None:
    assert slot_bytes(available_mb * MB) == slot_mb * MB


class NoDriver:
    def read(self) -> tuple[str | None, list[Gpu]]:
        raise NvmlUnavailable("no driver")


def test_an_automatic_slot_keeps_its_size_while_its_free_memory_changes(tmp_path: Path) -> None:
    devices = Devices(parse_devices("auto"), cuda_visible=None, nvml=NoDriver(), root=host(tmp_path, 10_240, {}))
    (empty,) = devices.read()

    host(tmp_path, 3000, {})
    (in_use,) = devices.read()

    assert (empty.total_bytes, empty.free_bytes) == (7168 * MB, 7168 * MB)
    assert (in_use.total_bytes, in_use.free_bytes) == (7168 * MB, 3000 * MB)


def test_a_slot_with_too_little_host_memory_lists_the_largest_processes(tmp_path: Path) -> None:
    pages = MB // os.sysconf("SC_PAGE_SIZE")
    for pid, name, mb in ((5, "blender", 5000), (6, "python3", 900), (7, "sshd", 10)):
        host(tmp_path, 3000, {f"proc/{pid}/comm": f"{name}\n", f"proc/{pid}/statm": f"9 {mb * pages} 1 1 0 1 0\n"})

    large, small = Devices(parse_devices("cpu:6000,cpu:2000"), cuda_visible=None, root=tmp_path).read()

    assert large.free_bytes == 3000 * MB
    assert [(one.pid, one.name, one.used_bytes) for one in large.processes] == [
        (5, "blender", 5000 * MB),
        (6, "python3", 900 * MB),
    ]
    assert small.processes == (), "the host has enough for this slot"


def test_after_a_restart_an_automatic_slot_can_get_its_former_size(tmp_path: Path) -> None:
    root = host(tmp_path, 3000, {})
    setting = parse_devices("auto")

    (slot,) = Devices(setting, cuda_visible=None, auto_slot_bytes=7168 * MB, nvml=NoDriver(), root=root).read()

    assert (slot.total_bytes, slot.free_bytes) == (7168 * MB, 3000 * MB)


def test_descendants_of_processes_are_found_at_any_depth(tmp_path: Path) -> None:
    parents = {1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 21: 20}
    for pid, parent in parents.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a ) name (7) S {parent} {pid} 0\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "30").mkdir()  # ended during the read

    assert with_descendants([10, 99], tmp_path) == {10, 11, 12, 99}
    assert with_descendants([]) == set()
    assert os.getpid() in with_descendants([os.getppid()])


def test_a_process_that_does_not_exist_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "comm").write_text("python3\n")

    assert name_of(5, tmp_path) == "python3"
    assert name_of(6, tmp_path) is None
