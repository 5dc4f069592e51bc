"""Prepare what the service needs to start: the data directory, the tables, the first token and sample data.

`python -m services.setup` does so and exits. Several may run at once: each waits for the one before it.
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
from services.working_folder import remove_abandoned

__all__ = ["SAMPLE", "main", "make_home", "prepare", "when_unlocked"]

SAMPLE = "shapes"
_OWN_NAMES = {"admin-token", "checkpoints", "datasets", "demo", "downshift.db", "jobs", "launcher.lock", "locks", "try"}

_LONGEST_LOCK_S = 600.0
_RETRY_S = 1.0  # in addition to the seconds that each try waits for the lock

Say = Callable[[str], None]
T = TypeVar("T")


def prepare(settings: Settings, say: Say = print) -> str | None:
    """Bring everything up to date, and report each step to `say`.

    Returns the first admin token if it was created now; it is not shown again. Waits while another program locks the
    database. Raises SettingsError, DatasetError or StoreUnavailable; the steps before the error stay done.
    """
    make_home(settings.home)
    try:
        with _exclusive_lock(settings.locks_dir / "setup.lock"):
            with closing(Store.open(settings.database_url)) as store:
                when_unlocked(lambda: _upgrade(store, say), say)
                token = when_unlocked(lambda: principal.ensure_admin(store, settings), say)
            _remove_abandoned(settings, say)
            _make_sample(settings.datasets_dir / SAMPLE, say)
    except OSError as error:
        raise _unusable(settings.home, error) from None
    return token


def make_home(home: Path) -> None:
    """Create the data directory, accessible to its owner only. Raises SettingsError if that is impossible.

    Refuses a folder that holds other files, instead of taking away other people's access to them.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(home.stat().st_mode)
        names = {entry.name for entry in home.iterdir()}
        if mode & 0o077:
            if names and not names & _OWN_NAMES:
                raise SettingsError(
                    f"DOWNSHIFT_HOME: {home} holds other files and other users can read it; "
                    f"name an empty folder, or restrict this one with chmod 700"
                )
            home.chmod(0o700)
        if not os.access(home, os.W_OK | os.X_OK):
            raise SettingsError(f"DOWNSHIFT_HOME: {home} cannot be written to; name another folder")
    except OSError as error:
        raise _unusable(home, error) from None


def _unusable(home: Path, error: OSError) -> SettingsError:
    return SettingsError(f"DOWNSHIFT_HOME: {home} cannot be used: {error.strerror}")


@contextmanager
def _exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the kernel's lock on `path`. A crash releases it too."""
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
    """Call `work` again and again while the database is locked, and return its result.

    Reports each wait to `say`. Raises StoreUnavailable after `wait_s` seconds.
    """
    began = time.monotonic()
    while True:
        try:
            return work()
        except StoreUnavailable as error:
            waited = time.monotonic() - began
            if not is_locked(error) or waited >= wait_s:
                raise
            say(f"the database is locked by another program; waiting for it, {waited:.0f} s of at most {wait_s:.0f} s")
        time.sleep(_RETRY_S)


def _remove_abandoned(settings: Settings, say: Say) -> None:
    for root in (settings.home, settings.datasets_dir, settings.checkpoints_dir):
        for folder in remove_abandoned(root):
            say(f"removed {folder}, which a killed import or upload left behind")


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
