"""A working folder is removed at its end; that of a killed process by the next one, and none that is in use."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services import setup
from services.datasets import shapes
from services.settings import Settings
from services.working_folder import LOCK_FILE, remove_abandoned, working_folder

ROOT = Path(__file__).parents[2]
WORK = """
import sys, time
from pathlib import Path
from services.working_folder import working_folder
with working_folder(Path(sys.argv[1]), "pets") as folder:
    (folder / "new").mkdir()
    (folder / "new" / "part").write_bytes(b"1")
    print(folder, flush=True)
    time.sleep(600)
"""


@contextmanager
def working(root: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A process that works in a folder below `root`."""
    command = [sys.executable, "-c", WORK, str(root)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def killed(root: Path) -> Path:
    with working(root) as (_, folder):
        assert (folder / "new/part").exists()
    return folder


def test_the_folder_lasts_as_long_as_the_block(tmp_path: Path) -> None:
    with working_folder(tmp_path, "pets") as folder:
        (folder / "new").mkdir()
        assert folder.name.startswith(".pets-")
        assert remove_abandoned(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    left = killed(tmp_path)
    assert left.exists()
    with working(tmp_path) as (_, used):  # it removes what it finds
        assert not left.exists()
        assert remove_abandoned(tmp_path) == []
        assert (used / "new/part").exists()
    assert remove_abandoned(tmp_path) == [used]
    assert list(tmp_path.iterdir()) == []


def test_the_service_removes_them_when_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=tmp_path / "home")
    monkeypatch.setattr(shapes, "generate", lambda folder, **_: folder.mkdir())
    settings.datasets_dir.mkdir(parents=True)
    left = killed(settings.datasets_dir)
    said: list[str] = []
    setup.prepare(settings, said.append)
    assert not left.exists()
    assert any(str(left) in line for line in said)


@pytest.mark.parametrize(
    ("name", "holds", "days", "is_removed"),
    [
        (".pets-abcd1234", "new", 2, True),  # of an earlier version
        (".pets-abcd1234", "new", 0, False),
        (".pets-abcd1234", "photographs", 2, False),
        (".upload-abcd1234", "anything", 2, True),
        (".backup", "new", 2, False),
        ("pets-abcd1234", LOCK_FILE, 2, False),
        (".pets-abcd1234", LOCK_FILE, 0, True),
    ],
)
def test_only_working_folders_are_removed(tmp_path: Path, name: str, holds: str, days: float, is_removed: bool) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / holds).touch()
    (tmp_path / ".link-abcd1234").symlink_to(folder)
    then = time.time() - days * 86_400 - 60
    os.utime(folder, (then, then))
    assert remove_abandoned(tmp_path) == ([folder] if is_removed else [])
    assert folder.exists() is not is_removed
    assert (tmp_path / ".link-abcd1234").is_symlink()
