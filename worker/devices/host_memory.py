"""The host memory that is still available, and the size of an automatic CPU slot."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from worker.devices.readings import MB

__all__ = ["available_bytes", "memory_groups", "slot_bytes"]

_SHARE = 0.7
_MULTIPLE = 256 * MB
_LEAST = 512 * MB


class CgroupVersion(NamedTuple):
    """The file names of one version of the kernel's control groups."""

    mount: str
    limits: tuple[str, ...]
    usage: str
    reclaimable: str
    kills: str  # the file with a line `oom_kill`


_V1 = CgroupVersion(
    "sys/fs/cgroup/memory",
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    "total_inactive_file",
    "memory.oom_control",
)
_V2 = CgroupVersion("sys/fs/cgroup", ("memory.max", "memory.high"), "memory.current", "inactive_file", "memory.events")


def slot_bytes(available: int) -> int:
    """The limit of a CPU slot on a host with `available` bytes.

    The limit applies to TensorFlow's allocator only. The trainer's libraries, its input pipeline and the page cache of
    its records need memory too, and so do the api, the broker and the kernel: 30 % are left to them. A multiple of
    256 MB, so that the size does not differ from start to start. At least 512 MB: nothing trains in less.
    """
    return max(_LEAST, int(available * _SHARE) // _MULTIPLE * _MULTIPLE)


def available_bytes(root: Path = Path("/")) -> int:
    """The bytes that this process can allocate without swapping and within the limits of its control groups."""
    return max(0, min([_available_on_host(root), *_left_in_groups(root)]))


def _available_on_host(root: Path) -> int:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/meminfo has no line MemAvailable")


def memory_groups(process: int | str = "self", root: Path = Path("/")) -> Iterator[tuple[CgroupVersion, list[Path]]]:
    """The memory control groups of a process, each with its folder and those of its ancestors, nearest first."""
    try:
        lines = (root / f"proc/{process}/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        version = _V2 if controllers == "" else _V1 if "memory" in controllers.split(",") else None
        if version is None:
            continue
        # In a container the path may be the host's, which does not exist inside: its own group is then at the mount.
        group = PurePosixPath(*[part for part in path.split("/") if part not in ("", "..")])
        yield version, [root / version.mount / above for above in (group, *group.parents)]


def _left_in_groups(root: Path) -> Iterator[int]:
    """The bytes left in each control group that contains this process and has a limit."""
    for version, folders in memory_groups(root=root):
        for folder in folders:
            known = [limit for name in version.limits if (limit := _number(folder / name)) is not None]
            if known:
                used = (_number(folder / version.usage) or 0) - _reclaimable(folder, version.reclaimable)
                yield min(known) - max(0, used)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # there is no such file, or it says "max"
        return None


def _reclaimable(folder: Path, name: str) -> int:
    """Page cache that counts as used in a group, but that the kernel frees before it kills a process."""
    try:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return int(stat.get(name, 0))
    except (OSError, ValueError):
        return 0
