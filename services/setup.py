"""What has to be there before the service can start: the data directory, the tables, the first token, sample data.

`python -m services.setup` does it and ends. Several at once are safe: the others wait and find nothing to do.
"""

import argparse
import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from services.datasets import shapes
from services.domain.tfrecord import DatasetError
from services.settings import Settings, SettingsError
from services.store import migrate
from services.store.engine import Store, StoreUnavailable, is_locked
from services.users import principal

__all__ = ["SAMPLE", "main", "make_home", "prepare", "when_unlocked"]

SAMPLE = "shapes"
_OWN_NAMES = {"admin-token", "checkpoints", "datasets", "demo", "downshift.db", "jobs", "launcher.lock", "locks", "try"}

_LONGEST_LOCK_S = 600.0
_LOOK_AGAIN_S = 1.0  # each try waits some seconds by itself

Say = Callable[[str], None]
T = TypeVar("T")


def prepare(settings: Settings, say: Say = print) -> str | None:
    """Bring everything up to date, telling `say` what had to be done.

    Returns the first admin token when it was made just now: it is shown here and never again.
    Waits for a database that another program has locked. Raises SettingsError, DatasetError or StoreUnavailable; what
    was done until then stays done.
    """
    make_home(settings.home)
    try:
        with _turn(settings.locks_dir / "setup.lock"):
            with closing(Store.open(settings.database_url)) as store:
                when_unlocked(lambda: _upgrade(store, say), say)
                token = when_unlocked(lambda: principal.ensure_admin(store, settings), say)
            _make_sample(settings.datasets_dir / SAMPLE, say)
    except OSError as error:
        raise _unusable(settings.home, error) from None
    return token


def make_home(home: Path) -> None:
    """The data directory, closed to everyone but its owner. Raises SettingsError where that cannot be had.

    A folder that holds other people's files is not closed behind their backs.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(home.stat().st_mode)
        names = {entry.name for entry in home.iterdir()}
        if mode & 0o077:
            if names and not names & _OWN_NAMES:
                raise SettingsError(
                    f"DOWNSHIFT_HOME: {home} holds other files and can be read by others; "
                    f"name an empty folder, or close it with chmod 700"
                )
            home.chmod(0o700)
        if not os.access(home, os.W_OK | os.X_OK):
            raise SettingsError(f"DOWNSHIFT_HOME: {home} cannot be written to; name another folder")
    except OSError as error:
        raise _unusable(home, error) from None


def _unusable(home: Path, error: OSError) -> SettingsError:
    return SettingsError(f"DOWNSHIFT_HOME: {home} cannot be used: {error.strerror}")


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Hold the kernel's lock on `path`; it ends with the process, so that a crash leaves nothing behind."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _upgrade(store: Store, say: Say) -> None:
    try:
        if not migrate.is_current(store.engine):
            say("updating the database's tables")
            migrate.upgrade(store.engine)
    except DBAPIError as error:
        raise StoreUnavailable(f"DOWNSHIFT_DATABASE_URL: the database cannot be used: {error.orig}") from error


def when_unlocked(work: Callable[[], T], say: Say, wait_s: float = _LONGEST_LOCK_S) -> T:
    """What `work` returns. While the database is locked it is tried again, and `say` is told; StoreUnavailable after
    `wait_s` seconds."""
    began = time.monotonic()
    while True:
        try:
            return work()
        except StoreUnavailable as error:
            waited = time.monotonic() - began
            if not is_locked(error) or waited >= wait_s:
                raise
            say(f"the database is locked by another program; waiting for it, {waited:.0f} s of at most {wait_s:.0f} s")
        time.sleep(_LOOK_AGAIN_S)


def _make_sample(folder: Path, say: Say) -> None:
    if folder.exists():
        return
    say(f"generating the sample dataset {folder.name!r}, which takes a few seconds")
    shapes.generate(folder, train=200, validation=40, size=256, seed=0)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m services.setup", description=__doc__.split("\n\n")[0])
    parser.parse_args(arguments)
    try:
        settings = Settings.from_environment()
        token = prepare(settings)
    except (SettingsError, DatasetError, StoreUnavailable) as error:
        print(f"setup: {error}", file=sys.stderr)
        return 2
    if token:
        print(f"the first admin token, also in {settings.admin_token_file}: {token}")
    print(f"{settings.home} is ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
