"""Write records to several files at once, one process for each core."""

import ctypes
import hashlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path, PurePosixPath
from typing import Any, Self

from services.datasets.annotations import Annotated
from services.datasets.checksum import masked_crc32c
from services.datasets.convert.example import make
from services.datasets.formats.picture import Annotation, Entry, Source
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError

__all__ = ["Converter", "Shard", "Written"]

_PR_SET_PDEATHSIG = 1
_TICK_S = 1.0
_MOST_PROBLEMS = 20  # of one file, before reading stops


@dataclass(frozen=True)
class Shard:
    """A file to write: its pictures in order, each with the name that it gets in the record."""

    split: str
    file: Path
    pictures: Sequence[tuple[str, Entry]]


@dataclass
class Written:
    """What was found in each of a shard's pictures: where, what, and the digest of its content."""

    split: str
    found: list[tuple[str, Annotated, bytes]] = field(default_factory=list)
    bytes: int = 0
    sha256: str = ""


class Converter:
    """A pool of processes that read pictures of one source. They end with this process, however it ends."""

    def __init__(self, root: Path, source: Source, processes: int | None = None) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._done: Synchronized[int] = spawn.Value("q", 0)
        count = processes or len(os.sched_getaffinity(0))
        self._pool = ProcessPoolExecutor(count, spawn, _begin, (os.getpid(), root, source.read, self._done))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    @property
    def done(self) -> int:
        """The number of pictures so far."""
        return self._done.value

    def labels(self, entries: Sequence[Entry]) -> set[str]:
        """The names of all objects."""
        size = max(1, len(entries) // 64)
        parts = [entries[start : start + size] for start in range(0, len(entries), size)]
        return set().union(*self._results([self._pool.submit(_labels, part) for part in parts]))

    def write(
        self, shards: Sequence[Shard], ids: Mapping[str, int], tick: Callable[[], None] | None = None
    ) -> Iterator[Written]:
        """What each shard got, in their order. Calls `tick` every second."""
        return self._results([self._pool.submit(_write, shard, ids) for shard in shards], tick)

    def _results(self, futures: list[Future[Any]], tick: Callable[[], None] | None = None) -> Iterator[Any]:
        try:
            for future in futures:
                while tick and not wait([future], timeout=_TICK_S).done:
                    tick()
                yield future.result()
        except BrokenProcessPool:
            problem = "a process of the import was ended from outside, perhaps for want of memory; try again"
            raise DatasetError("dataset_refused", problem) from None


_reader: Any = None  # of this process: folder, the source's `read`, pictures done


def _begin(parent: int, *reader: Any) -> None:
    global _reader
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _reader = reader


def _labels(entries: Sequence[Entry]) -> set[str]:
    """A picture whose annotations cannot be read is reported when it is converted."""
    found: set[str] = set()
    for entry in entries:
        annotation = _annotation(entry)
        if isinstance(annotation, Annotation):
            found.update(item.label for item in annotation.objects)
    return found


def _annotation(entry: Entry) -> Annotation | str:
    """Or the problem with it."""
    try:
        annotation: Annotation = _reader[1](entry)
        return annotation
    except DatasetError as error:
        return str(error)


def _write(shard: Shard, ids: Mapping[str, int]) -> Written:
    written = Written(shard.split)
    written.bytes = tfrecord.write(shard.file, _payloads(shard, ids, written), masked_crc32c).bytes
    with shard.file.open("rb") as file:
        written.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return written


def _where(annotation: Annotation, entry: Entry) -> str:
    """The annotation file, with the picture if it is for many."""
    is_own = PurePosixPath(annotation.file).stem == PurePosixPath(entry.picture).stem
    return annotation.file if is_own else f"{annotation.file}: {entry.picture}"


def _payloads(shard: Shard, ids: Mapping[str, int], written: Written) -> Iterator[bytes]:
    root, _, done = _reader
    problems = 0
    for name, entry in shard.pictures:
        annotation = _annotation(entry)
        if isinstance(annotation, str):
            where, _, problem = annotation.partition(": ")
            written.found.append((where, Annotated(problems=[problem]), b""))
            problems += 1
        else:
            made = make(root / entry.picture, name, annotation, ids)
            written.found.append((_where(annotation, entry), made.found, made.digest))
            problems += len(made.found.problems)
            if not problems:
                yield made.payload
        with done.get_lock():
            done.value += 1
        if problems >= _MOST_PROBLEMS:
            return
