"""Import what is in an unpacked archive as a dataset: TFRecord files, or pictures in people's own format."""

import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.datasets import importer
from services.datasets.formats.folder import PICTURES, Folder
from services.datasets.formats.recognise import FORMATS
from services.datasets.import_folder import DEFAULT_SHARE, Division, import_folder
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError
from services.library.archive import ArchiveError

__all__ = ["ARCHIVE_FORMATS", "LONGEST_GROUP", "ImportOptions", "add", "is_wanted"]

RECORDS = "tfrecord"
ARCHIVE_FORMATS = (RECORDS, *FORMATS)
LONGEST_GROUP = 200  # characters
_PATTERN_S = 3.0  # of processor time, for all pictures together
_ANNOTATIONS = frozenset((".json", ".xml", ".txt", ".yaml", ".yml", ".names", ".data", ".pbtxt"))
_NO_RECORDS = PICTURES | _ANNOTATIONS | {".index"}  # the last is that of a dataset's folder here
_ARCHIVES = frozenset((".zip", ".tar", ".gz", ".tgz", ".7z", ".rar"))
_IGNORED = frozenset(("__MACOSX", "Thumbs.db", "desktop.ini"))


@dataclass(frozen=True)
class ImportOptions:
    """As the command `services.datasets.add` has them. None: not given. `group`: a regular expression."""

    format: str | None = None
    validation_share: float | None = None
    seed: int | None = None
    group: str | None = None

    def pattern(self) -> "re.Pattern[str] | None":
        """Raises ValueError if `group` is not a regular expression."""
        try:
            return None if self.group is None else re.compile(self.group)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is not a regular expression: {error}") from None


def is_wanted(path: str) -> bool:
    """No hidden files, and none of those that operating systems add."""
    return not any(part.startswith(".") or part in _IGNORED for part in path.split("/"))


def add(
    root: Path, name: str, folder: Path, files: Sequence[Path], options: ImportOptions, tick: Callable[[], None]
) -> list[str]:
    """Create the dataset `name` below `root` from the unpacked `files` in `folder`; returns the warnings.

    Calls `tick` every second while pictures or records are read. Raises ArchiveError, or DatasetError with a line for
    each problem. Paths in both, and in the warnings, are those in the archive.
    """
    try:
        if _are_records(files, options.format):
            added = _add_records(root, name, files, options, tick)
        else:
            added = import_folder(
                root,
                name,
                _without_outer_folders(folder),
                format=options.format,
                division=_division(options),
                processes=0,  # the limits are those of one process
                progress=lambda *_: tick(),
            )
    except DatasetError as error:
        raise DatasetError(error.code, _as_sent(str(error), folder)) from None
    return [_as_sent(warning, folder) for warning in added.warnings]


def _as_sent(text: str, folder: Path) -> str:
    """The temporary folder would mean nothing to the sender."""
    return text.replace(f"{folder}/", "").replace(str(folder), "the archive")


def _are_records(files: Sequence[Path], wanted: str | None) -> bool:
    """Are these TFRecord files, going by their content? Raises ArchiveError if they are nothing that can be read."""
    if wanted is not None:
        return wanted == RECORDS
    suffixes = {file.suffix.lower() for file in files}
    has_pictures = bool(suffixes & PICTURES)
    has_records = any(_begins_with_record(file) for file in files)
    if has_pictures and has_records:
        raise ArchiveError(f"holds TFRecord files and pictures; say which to import (format={RECORDS}, or another)")
    if not has_pictures and not has_records and ".pbtxt" not in suffixes:
        inner = next((file.name for file in files if file.suffix.lower() in _ARCHIVES), None)
        advice = f"; send {inner} itself, as archives in an archive are not opened" if inner else ""
        raise ArchiveError(
            f"has neither pictures with annotations nor TFRecord files with a label map (*.pbtxt){advice}"
        )
    return not has_pictures


def _begins_with_record(file: Path) -> bool:
    """The length of its first record has the right checksum."""
    if file.suffix.lower() in PICTURES | _ANNOTATIONS:
        return False
    with file.open("rb") as opened:
        head = opened.read(12)
    return len(head) == 12 and tfrecord.masked_crc32c(head[:8]) == int.from_bytes(head[8:], "little")


def _without_outer_folders(folder: Path) -> Path:
    """The folder inside which there is more than one folder, or one that names a split, such as train."""
    while True:
        inside = list(folder.iterdir())
        if len(inside) != 1 or not inside[0].is_dir() or Folder.split_of(f"{inside[0].name}/"):
            return folder
        folder = inside[0]


def _add_records(
    root: Path, name: str, files: Sequence[Path], options: ImportOptions, tick: Callable[[], None]
) -> importer.Added:
    """Files whose names begin with `val` are for validation."""
    for option in ("seed", "group"):
        if getattr(options, option) is not None:
            raise ArchiveError(f"{option}: is for pictures, but these are TFRecord files; leave it out")
    labels = [file for file in files if file.suffix == ".pbtxt"]
    if len(labels) != 1:
        raise ArchiveError(f"has {len(labels)} label maps (*.pbtxt); one is needed")
    records = sorted(file for file in files if file.suffix.lower() not in _NO_RECORDS)
    validation = [file for file in records if file.name.startswith("val")]
    train = [file for file in records if not file.name.startswith("val")]
    if not train:
        raise ArchiveError("has no training files: TFRecord files whose names do not begin with val")
    if not validation and options.validation_share is None:
        raise ArchiveError(
            "has no validation files: begin the names of some with val, "
            "or hold back a share of the training images (validation_share=0.1)"
        )
    return importer.add(
        root,
        name,
        train=train,
        validation=validation,
        labels=labels[0],
        validation_share=options.validation_share,
        progress=_each_second(tick),
    )


def _each_second(tick: Callable[[], None]) -> importer.Progress:
    last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            tick()

    return progress


def _division(options: ImportOptions) -> Division:
    pattern = options.pattern()
    share = options.validation_share or DEFAULT_SHARE
    return Division(share, options.seed or 0, _BoundedPattern(pattern) if pattern else None)


class _BoundedPattern:
    """A pattern that others wrote, which may take for ever. Only for a process's main thread: it uses a signal."""

    def __init__(self, pattern: "re.Pattern[str]") -> None:
        self._pattern = pattern
        self._left_s = _PATTERN_S
        signal.signal(signal.SIGVTALRM, self._stop)

    def search(self, text: str, /) -> "re.Match[str] | None":
        signal.setitimer(signal.ITIMER_VIRTUAL, self._left_s)
        try:
            return self._pattern.search(text)
        finally:
            left, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self._left_s = max(left, 0.001)  # 0 would be no limit

    def _stop(self, *_: Any) -> None:
        raise DatasetError("dataset_refused", f"group: the pattern took longer than {_PATTERN_S:g} s; simplify it")
