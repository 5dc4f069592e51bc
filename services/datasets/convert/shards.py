"""Write records to several files at once, one process for each core."""

import ctypes
import hashlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path, PurePosixPath
from typing import Any, Self

from services.datasets.annotations import Annotated
from services.datasets.checksum import masked_crc32c
from services.datasets.convert.example import make
from services.datasets.formats.picture import Annotation, BadAnnotation, Entry, Source
from services.datasets.record_index import FileIndex
from services.datasets.statistics import Statistics
from services.domain import tfrecord
from services.domain.tfrecord import DatasetError

__all__ = ["Converter", "Shard", "Written"]

_PR_SET_PDEATHSIG = 1
_TICK_S = 1.0
_MOST_PROBLEMS = 1000  # of one file, before reading stops


@dataclass(frozen=True)
class Shard:
    """A file to write: its pictures in order, each with the name that it gets in the record."""

    split: str
    file: Path
    pictures: Sequence[tuple[str, Entry]]


@dataclass
class Written:
    """What was found in each of a shard's pictures: file, picture, what, and the digest of its content.

    Boxes are in the statistics only, and the records in the index.
    """

    split: str
    found: list[tuple[str, str, Annotated, bytes]] = field(default_factory=list)
    statistics: Statistics = field(default_factory=Statistics)
    index: FileIndex = field(default_factory=FileIndex)
    bytes: int = 0
    sha256: str = ""
    is_partial: bool = False  # there were so many problems that reading stopped


class Converter:
    """A pool of processes that read pictures of one source. They end with this process, however it ends.

    `processes`: by default one for each core. 0: a thread of this process, for which this process's limits hold.
    """

    def __init__(self, root: Path, source: Source, processes: int | None = None) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._done: Synchronized[int] = spawn.Value("q", 0)
        reader = (root, source.read, self._done)
        self._pool: Executor
        if processes == 0:
            self._pool = ThreadPoolExecutor(1, initializer=_read_with, initargs=reader)
        else:
            count = processes or len(os.sched_getaffinity(0))
            self._pool = ProcessPoolExecutor(count, spawn, _begin, (os.getpid(), *reader))

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
            futures.reverse()
            while futures:  # what was taken is forgotten: results are large
                future = futures.pop()
                while tick and not wait([future], timeout=_TICK_S).done:
                    tick()
                yield future.result()
        except BrokenProcessPool:
            problem = "a process of the import was ended from outside, perhaps for want of memory; try again"
            raise DatasetError("dataset_refused", problem) from None


_reader: Any = None  # of this process: folder, the source's `read`, pictures done


def _begin(parent: int, *reader: Any) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _read_with(*reader)


def _read_with(*reader: Any) -> None:
    global _reader
    _reader = reader


def _labels(entries: Sequence[Entry]) -> set[str]:
    """A picture whose annotations cannot be read is reported when it is converted."""
    found: set[str] = set()
    for entry in entries:
        annotation = _annotation(entry)
        if not isinstance(annotation, DatasetError):
            found.update(item.label for item in annotation.objects)
    return found


def _annotation(entry: Entry) -> Annotation | DatasetError:
    """Or what is wrong with it."""
    try:
        annotation: Annotation = _reader[1](entry)
        return annotation
    except DatasetError as error:
        return error


def _write(shard: Shard, ids: Mapping[str, int]) -> Written:
    written = Written(shard.split)
    written.bytes = tfrecord.write(shard.file, _payloads(shard, ids, written), masked_crc32c).bytes
    with shard.file.open("rb") as file:
        written.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return written


def _unreadable(error: DatasetError) -> tuple[str, str, Annotated, bytes]:
    """As in `Written.found`: what is wrong with an annotation."""
    found = Annotated()
    if not isinstance(error, BadAnnotation):
        file, _, problem = str(error).partition(": ")
        found.refuse("annotation_unreadable", problem)
        return file, "", found, b""
    if error.label_id is not None:
        found.written_ids = {error.label_id}
    code = "annotation_bad" if error.label_id is None else "class_unknown"
    found.refuse(code, error.problem, field=error.field, item=error.item)
    return error.file, "", found, b""


def _picture(annotation: Annotation, entry: Entry) -> str:
    """The picture, where its annotation file is for many."""
    is_own = PurePosixPath(annotation.file).stem == PurePosixPath(entry.picture).stem
    return "" if is_own else entry.picture


def _payloads(shard: Shard, ids: Mapping[str, int], written: Written) -> Iterator[bytes]:
    root, _, done = _reader
    problems = 0
    for name, entry in shard.pictures:
        annotation = _annotation(entry)
        if isinstance(annotation, DatasetError):
            written.found.append(_unreadable(annotation))
            problems += 1
        else:
            made = make(root / entry.picture, name, annotation, ids)
            written.found.append((annotation.file, _picture(annotation, entry), made.found, made.digest))
            problems += len(made.found.problems)
            if not problems:
                written.statistics.add(made.found)
                written.index.add(tfrecord.framed(len(made.payload)), made.found)
                made.found.boxes = []
                yield made.payload
        with done.get_lock():
            done.value += 1
        if problems >= _MOST_PROBLEMS:
            written.is_partial = True
            return
