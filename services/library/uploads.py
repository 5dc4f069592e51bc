"""Add an uploaded archive as a dataset or checkpoint, completely or not at all.

A separate process checks the contents (`services.library.upload_check`), so that a hostile archive cannot take time and
memory from the process that answers requests.
"""

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import idempotency as once
from services.bounded_process import Failed, OverLimit, Processes, ProcessLimits, Stopped
from services.clock import utc_now
from services.datasets import importer
from services.domain.sizes import in_mb
from services.domain.tfrecord import DatasetError
from services.errors import Busy, Conflict, Fault, Invalid, NoSpace
from services.idempotency import RequestKey, Result
from services.library import listing
from services.library.dataset_archive import ImportOptions
from services.library.upload_check import CheckRequest, CheckResult
from services.settings import Settings
from services.store.engine import Store
from services.store.users import audit, idempotency
from services.users.principal import Principal, Scope
from services.working_folder import working_folder

__all__ = [
    "Upload",
    "UploadContext",
    "add_checkpoint",
    "add_dataset",
    "check_options",
    "require_space",
    "service_stopping",
    "temporary_archive",
]

_MB = 2**20
_UPLOAD = "upload"
_CHECK = "services.library.upload_check"


@dataclass(frozen=True)
class Upload:
    """An archive as it was sent, and the digest of its bytes."""

    file: Path
    digest: str


@dataclass(frozen=True)
class UploadContext:
    store: Store
    settings: Settings
    processes: Processes


@contextlib.contextmanager
def temporary_archive(settings: Settings) -> Iterator[Path]:
    """A path to write an archive to. The file is deleted at the end of the block."""
    settings.home.mkdir(parents=True, exist_ok=True)
    with working_folder(settings.home, _UPLOAD) as folder:
        yield folder / "archive"


def require_space(settings: Settings, size: int) -> None:
    """Raises NoSpace unless `size` bytes fit on the disk beside the space that is reserved for training."""
    if _free_bytes(settings) < size:
        raise _disk_full(settings)


def _free_bytes(settings: Settings) -> int:
    """Free disk space beyond what is reserved for training."""
    return shutil.disk_usage(settings.home).free - settings.min_free_disk_mb * _MB


def _disk_full(settings: Settings) -> NoSpace:
    free, reserved = shutil.disk_usage(settings.home).free, settings.min_free_disk_mb * _MB
    return NoSpace(f"the disk has only {in_mb(free)} free, and {in_mb(reserved)} are reserved for training")


def check_options(options: ImportOptions) -> None:
    """Raises Invalid. Call it before the archive is received."""
    try:
        options.pattern()
    except ValueError as error:
        raise Invalid([Fault("group", str(error))]) from None


def add_dataset(
    context: UploadContext,
    principal: Principal,
    name: str,
    upload: Upload,
    options: ImportOptions,
    idempotency_key: str | None,
) -> Result:
    """Add TFRecord files with a label map, or pictures in people's own format. The result has the warnings.

    Raises Invalid with every problem of the archive, Conflict("name_taken"), NoSpace, Busy.
    """
    given = {name: value for name, value in dataclasses.asdict(options).items() if value is not None}
    asked = {"name": name, "digest": upload.digest, "share": given.pop("validation_share", None), **given}
    key = RequestKey.of(principal.user_id, idempotency_key, "dataset", asked)
    target = _Target("dataset", name, context.settings.datasets_dir, listing.show_dataset, options)
    return _add(context, principal, upload, key, target)


def add_checkpoint(
    context: UploadContext, principal: Principal, name: str, upload: Upload, idempotency_key: str | None
) -> Result:
    """Add a TensorFlow checkpoint. It may be in any folder of the archive, as in those of the model zoo.

    Raises Invalid, Conflict("name_taken"), NoSpace, Busy.
    """
    key = RequestKey.of(principal.user_id, idempotency_key, "checkpoint", {"name": name, "digest": upload.digest})
    target = _Target("checkpoint", name, context.settings.checkpoints_dir, listing.show_checkpoint, ImportOptions())
    return _add(context, principal, upload, key, target)


@dataclass(frozen=True)
class _Target:
    """The dataset or checkpoint that an archive becomes."""

    kind: str
    name: str
    root: Path
    show: Callable[[Settings, str], dict[str, Any]]
    options: ImportOptions

    @property
    def location(self) -> str:
        return f"/v1/{self.kind}s/{self.name}"

    def require_free_name(self) -> None:
        if os.path.lexists(self.root / self.name):
            raise Conflict("name_taken", f"a {self.kind} called {self.name!r} already exists: choose another name")


def _add(
    context: UploadContext, principal: Principal, upload: Upload, key: RequestKey | None, target: _Target
) -> Result:
    principal.require(Scope.SUBMIT)
    stored = once.replay(context.store, key)
    if stored is not None:
        return stored
    try:
        target.require_free_name()
        warnings = _install(context, upload, target)
        result = Result({**target.show(context.settings, target.name), "warnings": warnings}, target.location)
    except (Conflict, Invalid):
        stored = once.replay(context.store, key)
        if stored is not None:  # the same request, sent twice at once
            return stored
        target.require_free_name()  # a name that was taken meanwhile is the more useful error
        raise
    try:
        with context.store.transaction() as session:
            audit.add(session, principal.user_id, f"{target.kind}.add", f"{target.kind} {target.name}", utc_now())
            once.store_result(session, key, result)
    except idempotency.KeyTaken:  # by another request at the same time; this upload is installed all the same
        return result
    return result


def service_stopping() -> Busy:
    return Busy("the service is being stopped; nothing was added, send it again", 10)


def _install(context: UploadContext, upload: Upload, target: _Target) -> list[str]:
    """Check into a temporary folder on the same file system, then rename: a killed process leaves nothing half done.

    Returns the warnings of the check.
    """
    target.root.mkdir(parents=True, exist_ok=True)
    with working_folder(target.root, _UPLOAD) as ready:
        warnings = _check(context, upload, target, ready)
        try:
            importer.move_into_place(ready / target.name, target.root / target.name)
        except DatasetError as error:
            raise Invalid([Fault("archive", str(error))]) from None
    return warnings


def _check(context: UploadContext, upload: Upload, target: _Target, ready: Path) -> list[str]:
    settings = context.settings
    most, free = settings.max_upload_mb * _MB, _free_bytes(settings)
    request = CheckRequest(
        kind=target.kind,
        name=target.name,
        archive=str(upload.file),
        ready=str(ready),
        most_bytes=min(most, free),
        reserved_bytes=settings.min_free_disk_mb * _MB,
        options=dataclasses.asdict(target.options),
    )
    limits = ProcessLimits(settings.upload_check_mb, settings.upload_check_s)
    try:
        result = CheckResult(**context.processes.run(_CHECK, dataclasses.asdict(request), limits))
    except OverLimit as error:
        raise Invalid([Fault("archive", f"could not be checked: {error}; send it in smaller parts")]) from None
    except Failed:
        problem = "could not be checked: the checking process crashed on it"
        raise Invalid([Fault("archive", f"{problem}; try again, then ask an admin to look in the log")]) from None
    except Stopped:
        raise service_stopping() from None
    if result.code == "host_error":
        raise OSError(f"an archive could not be checked: {result.problems[0]}")
    if result.code == "no_space":
        raise NoSpace(*result.problems)
    if result.code == "too_large" and free < most:
        raise _disk_full(settings)
    if result.problems:
        raise Invalid([Fault("archive", problem) for problem in result.problems])
    return result.warnings
