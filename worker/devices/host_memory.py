"""Memory the host can still give this process, and the size of a CPU slot made from it."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from worker.devices.readings import MB

_SHARE = 0.7
_GRAIN = 256 * MB
_LEAST = 512 * MB


class Version(NamedTuple):
    """Where a version of the kernel's control groups keeps its figures."""

    mount: str
    limits: tuple[str, ...]
    usage: str
    reclaimable: str
    kills: str  # the file with the line `oom_kill`


V1 = Version(
    "sys/fs/cgroup/memory",
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    "total_inactive_file",
    "memory.oom_control",
)
V2 = Version("sys/fs/cgroup", ("memory.max", "memory.high"), "memory.current", "inactive_file", "memory.events")


def slot_bytes(available: int) -> int:
    """The limit of a CPU slot on a host with `available` bytes.

    The limit binds TensorFlow's allocator only. The trainer's libraries, its input pipeline and the page cache of
    its records come on top, and the api, the broker and the kernel live on the same host: 30 % stay theirs. In steps
    of 256 MB, so that a slot does not come out differently each time. Never below 512 MB: less trains nothing.
    """
    return max(_LEAST, int(available * _SHARE) // _GRAIN * _GRAIN)


def available_bytes(root: Path = Path("/")) -> int:
    """What can be had without swapping and without hitting the limit of a control group above this process."""
    return max(0, min([_available_on_host(root), *_left_in_groups(root)]))


def _available_on_host(root: Path) -> int:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/meminfo does not say what memory is available")


def groups(process: int | str = "self", root: Path = Path("/")) -> Iterator[tuple[Version, list[Path]]]:
    """The memory control groups of a process, version 2 and 1: each with the folders from its own one upwards."""
    try:
        lines = (root / f"proc/{process}/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        version = V2 if controllers == "" else V1 if "memory" in controllers.split(",") else None
        if version is None:
            continue
        # A container may be told the host's path, which does not exist inside: its own group is then at the mount.
        group = PurePosixPath(*[part for part in path.split("/") if part not in ("", "..")])
        yield version, [root / version.mount / above for above in (group, *group.parents)]


def _left_in_groups(root: Path) -> Iterator[int]:
    """What each control group above this process has left; a limit anywhere above counts."""
    for version, folders in groups(root=root):
        for folder in folders:
            known = [limit for name in version.limits if (limit := _number(folder / name)) is not None]
            if known:
                used = (_number(folder / version.usage) or 0) - _reclaimable(folder, version.reclaimable)
                yield min(known) - max(0, used)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # not there, or "max"
        return None


def _reclaimable(folder: Path, name: str) -> int:
    """Page cache that the kernel gives back before it kills anyone; it counts as used in a group."""
    try:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return int(stat.get(name, 0))
    except (OSError, ValueError):
        return 0
