"""Unpack and check an uploaded archive. `services.library.uploads` runs this module in a bounded process.

It writes only into the folders of its request, never into the datasets and checkpoints that jobs use.
"""

import dataclasses
import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import bounded_process
from services.domain.checkpoints import index
from services.domain.checkpoints.index import UnreadableIndex
from services.domain.tfrecord import DatasetError
from services.library import dataset_archive, unpack
from services.library.dataset_archive import ImportOptions
from services.library.unpack import ArchiveError, TooLarge

__all__ = ["CheckRequest", "CheckResult", "check"]

_CHECKPOINT = re.compile(r"(?P<name>(?:model\.)?ckpt[A-Za-z0-9._-]*)\.(?:index|data-[0-9]{5}-of-(?P<shards>[0-9]{5}))")
_LONGEST_LINE = 1000


@dataclass(frozen=True)
class CheckRequest:
    """`ready` is an existing folder. After a successful check it contains the dataset or checkpoint under `name`."""

    kind: str  # "dataset" or "checkpoint"
    name: str
    archive: str
    ready: str
    most_bytes: int  # of the unpacked files
    reserved_bytes: int  # of the disk, which stay free
    options: dict[str, Any]  # of a dataset: the fields of ImportOptions


@dataclass(frozen=True)
class CheckResult:
    """`code`: ok, too_large, no_space, refused, or host_error. `problems` are shown to the sender; empty with ok.

    `warnings`: only with ok.
    """

    code: str
    problems: list[str]
    warnings: list[str]


def check(request: CheckRequest) -> CheckResult:
    add = _dataset if request.kind == "dataset" else _checkpoint
    try:
        warnings = add(request)
    except TooLarge as error:
        return CheckResult("too_large", [str(error)], [])
    except ArchiveError as error:
        return CheckResult("refused", [str(error)[:_LONGEST_LINE]], [])
    except DatasetError as error:
        return CheckResult("refused", [line[:_LONGEST_LINE] for line in str(error).splitlines()], [])
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return CheckResult("host_error", [str(error)], [])
        return CheckResult("no_space", ["the disk became full while the archive was unpacked; nothing was added"], [])
    return CheckResult("ok", [], [line[:_LONGEST_LINE] for line in warnings])


def _unpacked(
    request: CheckRequest, folder: Path, is_wanted: Callable[[str], bool], keep_folders: bool = False
) -> list[Path]:
    folder.mkdir(mode=0o755)
    return unpack.unpack(Path(request.archive), folder, request.most_bytes, is_wanted, keep_folders=keep_folders)


def _dataset(request: CheckRequest) -> list[str]:
    folder, ready = Path(request.archive).with_name("files"), Path(request.ready)
    files = _unpacked(request, folder, dataset_archive.is_wanted, keep_folders=True)

    def tick() -> None:
        if shutil.disk_usage(ready).free < request.reserved_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return dataset_archive.add(ready, request.name, folder, files, ImportOptions(**request.options), tick)


def _checkpoint(request: CheckRequest) -> list[str]:
    files = _unpacked(request, Path(request.ready, request.name), lambda file: bool(_CHECKPOINT.fullmatch(file)))
    names = [file.name for file in files]
    indexes = [name for name in names if name.endswith(".index")]
    if len(indexes) != 1:
        raise ArchiveError(f"has {len(indexes)} checkpoints (ckpt-….index); one is needed")
    shards = [_CHECKPOINT.fullmatch(name) for name in names if name not in indexes]
    own = [shard for shard in shards if shard and shard["name"] == indexes[0].removesuffix(".index")]
    if not own or len(own) != len(shards) or len(own) != int(own[0]["shards"]):
        raise ArchiveError(f"the data of {indexes[0]} is incomplete, or other data is beside it")
    try:
        index.read_shapes(Path(request.ready, request.name, indexes[0]))
    except UnreadableIndex as error:
        raise ArchiveError(f"{indexes[0]} cannot be read: {error}") from None
    return []


def main() -> int:
    request: dict[str, Any] = bounded_process.begin()
    asked = CheckRequest(**request)
    tempfile.tempdir = str(Path(asked.archive).parent)  # which is removed, however this process ends
    with bounded_process.memory_bounded():
        result = check(asked)
    bounded_process.answer(dataclasses.asdict(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
