"""Datasets and checkpoints that somebody sends: an archive that lies on disk becomes what jobs can name, or nothing.

What is in it is looked at by a process of its own (`services.library.upload_check`): a hostile archive can take the
time and memory of that one, never those of the process that answers requests.
"""

import contextlib
import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import idempotency as once
from services.bounded_process import Failed, Limits, OverLimit, Processes, Stopped
from services.clock import utc_now
from services.datasets import importer
from services.domain.sizes import in_mb
from services.domain.tfrecord import DatasetError
from services.errors import Busy, Conflict, Fault, Invalid, NoSpace
from services.idempotency import RequestKey, Result
from services.library import listing
from services.library.upload_check import Outcome, Request
from services.settings import Settings
from services.store import audit, idempotency
from services.store.engine import Store
from services.users.principal import Principal, Scope

__all__ = ["Desk", "Upload", "add_checkpoint", "add_dataset", "place_for", "require_space", "stopping"]

_MB = 2**20
_PREFIX = ".upload-"
_OLD_S = 86_400
_CHECK = "services.library.upload_check"


@dataclass(frozen=True)
class Upload:
    """An archive as it was sent; `digest` of its bytes."""

    file: Path
    digest: str


@dataclass(frozen=True)
class Desk:
    """Where archives are taken in."""

    store: Store
    settings: Settings
    processes: Processes


@contextlib.contextmanager
def place_for(settings: Settings) -> Iterator[Path]:
    """A file to put an archive into; it goes when its work is result."""
    settings.home.mkdir(parents=True, exist_ok=True)
    for root in (settings.home, settings.datasets_dir, settings.checkpoints_dir):
        _remove_old(root)
    with _folder_in(settings.home) as folder:
        yield folder / "archive"


def _remove_old(root: Path) -> None:
    """What a process that was killed left."""
    for left in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - _OLD_S:
                shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _folder_in(root: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=root, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def require_space(settings: Settings, size: int) -> None:
    """For so many bytes more, with what is to be left for training. Raises NoSpace."""
    if _room(settings) < size:
        raise _full(settings)


def _room(settings: Settings) -> int:
    """Bytes that may come, so that training has what is kept for it."""
    return shutil.disk_usage(settings.home).free - settings.min_free_disk_mb * _MB


def _full(settings: Settings) -> NoSpace:
    free, kept = shutil.disk_usage(settings.home).free, settings.min_free_disk_mb * _MB
    return NoSpace(f"the disk has only {in_mb(free)} free, and {in_mb(kept)} are reserved for training")


def add_dataset(
    desk: Desk,
    principal: Principal,
    name: str,
    upload: Upload,
    validation_share: float | None = None,
    idempotency_key: str | None = None,
) -> Result:
    """TFRecord files and a label map (`*.pbtxt`). Files whose names begin with `val` are for validation.

    Raises Invalid, with all that is wrong with the records; Conflict("name_taken"); NoSpace; Busy.
    """
    asked = {"name": name, "digest": upload.digest, "share": validation_share}
    key = RequestKey.of(principal.user_id, idempotency_key, "dataset", asked)
    taken = _Taken("dataset", name, desk.settings.datasets_dir, listing.show_dataset, validation_share)
    return _add(desk, principal, upload, key, taken)


def add_checkpoint(
    desk: Desk, principal: Principal, name: str, upload: Upload, idempotency_key: str | None = None
) -> Result:
    """A checkpoint of TensorFlow's, wherever in the archive it is: the model zoo's archives will do as they are.

    Raises Invalid, Conflict("name_taken"), NoSpace, Busy.
    """
    key = RequestKey.of(principal.user_id, idempotency_key, "checkpoint", {"name": name, "digest": upload.digest})
    taken = _Taken("checkpoint", name, desk.settings.checkpoints_dir, listing.show_checkpoint)
    return _add(desk, principal, upload, key, taken)


@dataclass(frozen=True)
class _Taken:
    """What is to become of an archive."""

    what: str
    name: str
    root: Path
    show: Callable[[Settings, str], dict[str, Any]]
    validation_share: float | None = None

    @property
    def location(self) -> str:
        return f"/v1/{self.what}s/{self.name}"

    def require_free(self) -> None:
        if os.path.lexists(self.root / self.name):
            raise Conflict("name_taken", f"a {self.what} called {self.name!r} already exists: choose another name")


def _add(desk: Desk, principal: Principal, upload: Upload, key: RequestKey | None, taken: _Taken) -> Result:
    principal.require(Scope.SUBMIT)
    before = once.replay(desk.store, key)
    if before is not None:
        return before
    try:
        taken.require_free()
        _put_in_place(desk, upload, taken)
        result = Result(taken.show(desk.settings, taken.name), taken.location)
    except (Conflict, Invalid):
        before = once.replay(desk.store, key)
        if before is not None:  # the same request, sent twice at once
            return before
        taken.require_free()  # who was slower hears that, whatever else there was
        raise
    try:
        with desk.store.transaction() as session:
            audit.add(session, principal.user_id, f"{taken.what}.add", f"{taken.what} {taken.name}", utc_now())
            once.store_result(session, key, result)
    except idempotency.KeyTaken:  # for another request, at the same time: this one is there all the same
        return result
    return result


def stopping() -> Busy:
    return Busy("the service is being stopped; nothing was added, send it again", 10)


def _put_in_place(desk: Desk, upload: Upload, taken: _Taken) -> None:
    """Beside its place first: what a process that was ended midway leaves there goes with the folder."""
    taken.root.mkdir(parents=True, exist_ok=True)
    with _folder_in(taken.root) as ready:
        _check(desk, upload, taken, ready)
        try:
            importer.move_into_place(ready / taken.name, taken.root / taken.name)
        except DatasetError as error:
            raise Invalid([Fault("archive", str(error))]) from None


def _check(desk: Desk, upload: Upload, taken: _Taken, ready: Path) -> None:
    settings = desk.settings
    most, room = settings.max_upload_mb * _MB, _room(settings)
    request = Request(
        taken.what, taken.name, str(upload.file), str(ready), min(most, room), validation_share=taken.validation_share
    )
    limits = Limits(settings.upload_check_mb, settings.upload_check_s)
    try:
        outcome = Outcome(**desk.processes.run(_CHECK, dataclasses.asdict(request), limits))
    except OverLimit as error:
        raise Invalid([Fault("archive", f"could not be checked: {error}; send it in smaller parts")]) from None
    except Failed:
        what = "could not be checked: the checking process crashed on it"
        raise Invalid([Fault("archive", f"{what}; try again, then ask an admin to look in the log")]) from None
    except Stopped:
        raise stopping() from None
    if outcome.code == "fault":
        raise OSError(f"an archive could not be checked: {outcome.problems[0]}")
    if outcome.code == "no_space":
        raise NoSpace(*outcome.problems)
    if outcome.code == "too_much" and room < most:
        raise _full(settings)
    if outcome.problems:
        raise Invalid([Fault("archive", problem) for problem in outcome.problems])
