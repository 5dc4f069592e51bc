"""The files of a job that users can download: results, logs, and the exported model as one archive."""

import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from services.attempt_paths import attempt_folder, job_dir
from services.clock import stamp_of
from services.domain.contract import (
    CHECKPOINTS_DIR,
    CONFIG_FILE,
    EVALUATIONS_DIR,
    EVENTS_FILE,
    EXPORT_DIR,
    LOG_FILE,
    OUTCOME_FILE,
    SAMPLES_DIR,
    SUMMARIES_DIR,
)
from services.errors import NotFound
from services.jobs import queries
from services.safe_files import Entry, open_below, read_exactly, walk_below
from services.settings import Settings
from services.store import attempts
from services.store.engine import Store
from services.users.principal import Principal

__all__ = ["EXPORT_ARCHIVE", "Artifact", "list_artifacts", "open_artifact", "stream_export"]

EXPORT_ARCHIVE = f"{EXPORT_DIR}.tar.gz"
_MOST_FILES = 5000
_OF_JOB = (EXPORT_DIR, CHECKPOINTS_DIR, SUMMARIES_DIR)
_OF_ATTEMPT = (
    CONFIG_FILE,
    LOG_FILE,
    EVENTS_FILE,
    OUTCOME_FILE,
    SAMPLES_DIR,
    EVALUATIONS_DIR,
)  # not attempt.json, which contains paths of the host
_DOWNLOADABLE = re.compile(
    rf"(?:{'|'.join(map(re.escape, _OF_JOB))})/.+"
    rf"|{attempt_folder(r'[0-9]+')}/(?:{'|'.join(map(re.escape, _OF_ATTEMPT))})(?:/.+)?"
)


@dataclass(frozen=True)
class Artifact:
    """An open file, and its current size."""

    name: str
    bytes: int
    file: BinaryIO


def list_artifacts(store: Store, settings: Settings, principal: Principal, job_id: int) -> dict[str, Any]:
    """Raises NotFound if there is no such job. A job that has not started has no artifacts."""
    with store.reading() as session:
        queries.visible_job(session, principal, job_id)
        numbers = [attempt.number for attempt in attempts.of_job(session, job_id)]
    root = job_dir(settings, job_id)
    tops = [*_OF_JOB, *(f"{attempt_folder(number)}/{name}" for number in numbers for name in _OF_ATTEMPT)]
    found: list[Entry] = []
    for top in tops:
        found.extend(walk_below(root, top, _MOST_FILES + 1 - len(found)))
    items = [_view(job_id, entry) for entry in found[:_MOST_FILES]]
    exported = [entry for entry in found if entry.name.startswith(f"{EXPORT_DIR}/")]
    if exported:
        newest = max(entry.modified for entry in exported)
        items.insert(0, _view(job_id, Entry(EXPORT_ARCHIVE, 0, newest)) | {"bytes": None})
    return {"items": items, "is_complete": len(found) <= _MOST_FILES}


def open_artifact(store: Store, settings: Settings, principal: Principal, job_id: int, name: str) -> Artifact:
    """Raises NotFound for a file that does not exist or is not downloadable. The caller closes the file."""
    with store.reading() as session:
        queries.visible_job(session, principal, job_id)
    if not _DOWNLOADABLE.fullmatch(name):
        raise NotFound(f"job {job_id} has no artifact {name!r}")
    file = open_below(job_dir(settings, job_id), name)
    size = file.seek(0, 2)
    file.seek(0)
    return Artifact(name, size, file)


def stream_export(store: Store, settings: Settings, principal: Principal, job_id: int) -> Iterator[bytes]:
    """The exported model as a .tar.gz, created while it is sent. Raises NotFound before the first byte."""
    with store.reading() as session:
        queries.visible_job(session, principal, job_id)
    root = job_dir(settings, job_id)
    entries = list(walk_below(root, EXPORT_DIR, _MOST_FILES))
    if not entries:
        raise NotFound(f"job {job_id} has exported no model")
    return _tar(root, entries, f"job-{job_id}")


def _tar(root: Path, entries: list[Entry], prefix: str) -> Iterator[bytes]:
    """Uses the fastest compression level, as weights hardly compress."""
    gzip = zlib.compressobj(level=1, wbits=31)
    for entry in entries:
        try:
            file = open_below(root, entry.name)
        except NotFound:  # deleted since it was listed
            continue
        with file:
            size = file.seek(0, 2)
            file.seek(0)
            about = tarfile.TarInfo(f"{prefix}/{entry.name}")
            about.size, about.mtime, about.mode = size, int(entry.modified), 0o644
            yield gzip.compress(about.tobuf(tarfile.PAX_FORMAT))
            for chunk in read_exactly(file, size):
                yield gzip.compress(chunk)
            yield gzip.compress(bytes(-size % tarfile.BLOCKSIZE))
    yield gzip.compress(bytes(2 * tarfile.BLOCKSIZE))
    yield gzip.flush()


def _view(job_id: int, entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "bytes": entry.bytes,
        "modified_at": stamp_of(entry.modified),
        "link": f"/v1/jobs/{job_id}/artifacts/{entry.name}",
    }
