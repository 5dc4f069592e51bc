"""Unpack and check an uploaded archive. `services.library.uploads` runs this module in a bounded process.

It writes only into the folders of its request, never into the datasets and checkpoints that jobs use.
"""

import dataclasses
import errno
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import bounded_process
from services.datasets import importer
from services.domain.checkpoints import index
from services.domain.checkpoints.index import UnreadableIndex
from services.domain.tfrecord import DatasetError
from services.library import unpack
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
    most_bytes: int
    validation_share: float | None


@dataclass(frozen=True)
class CheckResult:
    """`code`: ok, too_large, no_space, refused, or host_error. `problems` are shown to the sender; empty with ok."""

    code: str
    problems: list[str]


def check(request: CheckRequest) -> CheckResult:
    add = _dataset if request.kind == "dataset" else _checkpoint
    try:
        add(request)
    except TooLarge as error:
        return CheckResult("too_large", [str(error)])
    except ArchiveError as error:
        return CheckResult("refused", [str(error)[:_LONGEST_LINE]])
    except DatasetError as error:
        return CheckResult("refused", [line[:_LONGEST_LINE] for line in str(error).splitlines()])
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return CheckResult("host_error", [str(error)])
        return CheckResult("no_space", ["the disk became full while the archive was unpacked; nothing was added"])
    return CheckResult("ok", [])


def _unpacked(request: CheckRequest, folder: Path, is_wanted: Callable[[str], bool]) -> list[Path]:
    folder.mkdir(mode=0o755)
    return unpack.unpack(Path(request.archive), folder, request.most_bytes, is_wanted)


def _dataset(request: CheckRequest) -> None:
    folder = Path(request.archive).with_name("files")
    files = _unpacked(request, folder, lambda file: not file.startswith("."))
    labels = [file for file in files if file.suffix == ".pbtxt"]
    if len(labels) != 1:
        raise ArchiveError(f"has {len(labels)} label maps (*.pbtxt); one is needed")
    records = sorted(file for file in files if file.suffix != ".pbtxt")
    validation = [file for file in records if file.name.startswith("val")]
    train = [file for file in records if not file.name.startswith("val")]
    if not train:
        raise ArchiveError("has no training files: TFRecord files whose names do not begin with val")
    if not validation and request.validation_share is None:
        raise ArchiveError(
            "has no validation files: begin the names of some with val, "
            "or hold back a share of the training images (validation_share=0.1)"
        )
    try:
        importer.add(
            Path(request.ready),
            request.name,
            train=train,
            validation=validation,
            labels=labels[0],
            validation_share=request.validation_share,
        )
    except DatasetError as error:
        # The temporary folder would mean nothing to the sender.
        raise DatasetError(error.code, str(error).replace(f"{folder}/", "")) from None


def _checkpoint(request: CheckRequest) -> None:
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


def main() -> int:
    request: dict[str, Any] = bounded_process.begin()
    with bounded_process.memory_bounded():
        result = check(CheckRequest(**request))
    bounded_process.answer(dataclasses.asdict(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
