"""Datasets and checkpoints that somebody sends: an archive that lies on disk becomes what jobs can name, or nothing."""

import contextlib
import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import archives, materials, once
from services.accounts import Principal, Scope
from services.archives import ArchiveError, TooMuch
from services.clock import utc_now
from services.datasets import importer
from services.domain.sizes import in_mb
from services.domain.tfrecord import DatasetError
from services.errors import Conflict, Fault, Invalid, NoSpace
from services.once import Done, Key
from services.settings import Settings
from services.store import audit, idempotency
from services.store.engine import Store

__all__ = ["Upload", "add_checkpoint", "add_dataset", "place_for", "require_space"]

_MB = 2**20
_PREFIX = ".upload-"
_OLD_S = 86_400
_CHECKPOINT = re.compile(r"(?P<name>(?:model\.)?ckpt[A-Za-z0-9._-]*)\.(?:index|data-[0-9]{5}-of-(?P<shards>[0-9]{5}))")


@dataclass(frozen=True)
class Upload:
    """An archive as it was sent; `digest` of its bytes."""

    file: Path
    digest: str


@contextlib.contextmanager
def place_for(settings: Settings) -> Iterator[Path]:
    """A file to put an archive into; it goes when its work is done."""
    settings.home.mkdir(parents=True, exist_ok=True)
    for left in settings.home.glob(f"{_PREFIX}*"):  # by a process that was killed
        if left.stat().st_mtime < time.time() - _OLD_S:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=settings.home, ignore_cleanup_errors=True) as folder:
        yield Path(folder, "archive")


def require_space(settings: Settings, size: int) -> None:
    """For so many bytes more, with what is to be left for training. Raises NoSpace."""
    if _room(settings) < size:
        raise _full(settings)


def _room(settings: Settings) -> int:
    """Bytes that may come, so that training has what is kept for it."""
    return shutil.disk_usage(settings.home).free - settings.min_free_disk_mb * _MB


def _full(settings: Settings) -> NoSpace:
    free, kept = shutil.disk_usage(settings.home).free, settings.min_free_disk_mb * _MB
    return NoSpace(f"the disk has {in_mb(free)} left, and {in_mb(kept)} are kept for training")


def add_dataset(
    store: Store,
    settings: Settings,
    principal: Principal,
    name: str,
    upload: Upload,
    validation_share: float | None = None,
    idempotency_key: str | None = None,
) -> Done:
    """TFRecord files and a label map (`*.pbtxt`). Files whose names begin with `val` are for validation.

    Raises Invalid, with all that is wrong with the records; Conflict("name_taken"); NoSpace.
    """

    def add(files: Sequence[Path]) -> dict[str, Any]:
        labels = [file for file in files if file.suffix == ".pbtxt"]
        if len(labels) != 1:
            raise ArchiveError(f"has {len(labels)} label maps (*.pbtxt); one is needed")
        records = sorted(file for file in files if file not in labels)
        validation = [file for file in records if file.name.startswith("val")]
        train = [file for file in records if file not in validation]
        if not train:
            raise ArchiveError("has no TFRecord files to train on, which are all whose names do not begin with val")
        if not validation and validation_share is None:
            raise ArchiveError(
                "has no files to validate on: let the names of some begin with val, "
                "or put a share of the training images aside (validation_share=0.1)"
            )
        importer.add(
            settings.datasets_dir,
            name,
            train=train,
            validation=validation,
            labels=labels[0],
            validation_share=validation_share,
        )
        return materials.show_dataset(settings, name)

    key = Key.of(
        principal, idempotency_key, "dataset", {"name": name, "digest": upload.digest, "share": validation_share}
    )
    taken = _Taken("dataset", name, settings.datasets_dir, lambda file: not file.startswith("."), add)
    return _add(store, settings, principal, upload, key, taken)


def add_checkpoint(
    store: Store,
    settings: Settings,
    principal: Principal,
    name: str,
    upload: Upload,
    idempotency_key: str | None = None,
) -> Done:
    """A checkpoint of TensorFlow's, wherever in the archive it is: the model zoo's archives will do as they are.

    Raises Invalid, Conflict("name_taken"), NoSpace.
    """

    def add(files: Sequence[Path]) -> dict[str, Any]:
        _check_checkpoint([file.name for file in files])
        settings.checkpoints_dir.mkdir(parents=True, exist_ok=True)
        importer.move_into_place(files[0].parent, settings.checkpoints_dir / name)
        return materials.show_checkpoint(settings, name)

    key = Key.of(principal, idempotency_key, "checkpoint", {"name": name, "digest": upload.digest})
    taken = _Taken("checkpoint", name, settings.checkpoints_dir, lambda file: bool(_CHECKPOINT.fullmatch(file)), add)
    return _add(store, settings, principal, upload, key, taken)


def _check_checkpoint(names: Sequence[str]) -> None:
    """Raises ArchiveError."""
    indexes = [name for name in names if name.endswith(".index")]
    if len(indexes) != 1:
        raise ArchiveError(f"has {len(indexes)} checkpoints (ckpt-….index); one is needed")
    shards = [_CHECKPOINT.fullmatch(name) for name in names if name not in indexes]
    own = [shard for shard in shards if shard and shard["name"] == indexes[0].removesuffix(".index")]
    if not own or len(own) != len(shards) or len(own) != int(own[0]["shards"]):
        raise ArchiveError(f"the data of {indexes[0]} is not complete, or there is other data beside it")


@dataclass(frozen=True)
class _Taken:
    """What is to become of an archive."""

    what: str
    name: str
    root: Path
    is_wanted: Callable[[str], bool]
    add: Callable[[Sequence[Path]], dict[str, Any]]

    @property
    def location(self) -> str:
        return f"/v1/{self.what}s/{self.name}"

    def require_free(self) -> None:
        if os.path.lexists(self.root / self.name):
            raise Conflict("name_taken", f"there is a {self.what} called {self.name!r} already, and none is changed")


def _add(
    store: Store, settings: Settings, principal: Principal, upload: Upload, key: Key | None, taken: _Taken
) -> Done:
    principal.require(Scope.SUBMIT)
    before = once.replay(store, key)
    if before is not None:
        return before
    try:
        taken.require_free()
        done = Done(_unpacked(settings, upload, taken), taken.location)
    except (Conflict, Invalid):
        before = once.replay(store, key)
        if before is not None:  # the same request, sent twice at once
            return before
        taken.require_free()  # who was slower hears that, whatever else there was
        raise
    try:
        with store.transaction() as session:
            audit.add(session, principal.user_id, f"{taken.what}.add", f"{taken.what} {taken.name}", utc_now())
            once.keep(session, key, done)
    except idempotency.KeyTaken:  # for another request, at the same time: this one is there all the same
        return done
    return done


def _unpacked(settings: Settings, upload: Upload, taken: _Taken) -> dict[str, Any]:
    folder = upload.file.parent / "files"
    folder.mkdir(mode=0o755)
    most, room = settings.max_upload_mb * _MB, _room(settings)
    try:
        files = archives.unpack(upload.file, folder, min(most, room), taken.is_wanted)
        return taken.add(files)
    except TooMuch as error:
        if room < most:
            raise _full(settings) from None
        raise Invalid([Fault("archive", str(error))]) from None
    except ArchiveError as error:
        raise Invalid([Fault("archive", str(error))]) from None
    except DatasetError as error:
        # Where it was unpacked is of no use to whoever sent it.
        lines = str(error).replace(f"{folder}{os.sep}", "").splitlines()
        raise Invalid([Fault("archive", line) for line in lines]) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise NoSpace("the disk became full while the archive was unpacked; nothing was added") from None
