"""Setup runs once for several processes, and makes a private home."""

import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from services import setup
from services.datasets import shapes
from services.datasets.dataset import Dataset
from services.settings import Settings, SettingsError
from services.store import migrate
from services.store.engine import Store, StoreUnavailable


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Records the sample datasets instead of generating them, which takes seconds."""
    folders: list[Path] = []

    def draw(folder: Path, **options: int) -> None:
        folder.mkdir(parents=True)
        folders.append(folder)

    monkeypatch.setattr(shapes, "generate", draw)
    return folders


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_empty_home_gets_tables_a_token_and_the_sample_dataset(home: Path, drawn: list[Path]) -> None:
    settings = Settings(home=home)

    token = setup.prepare(settings, say=lambda text: None)

    store = Store.open(settings.database_url)
    assert migrate.is_current(store.engine)
    store.close()
    assert token
    assert settings.admin_token_file.read_text().strip() == token
    assert mode(settings.admin_token_file) == 0o600
    assert mode(home) == 0o700
    assert drawn == [home / "datasets" / "shapes"]


@pytest.mark.parametrize(("journal", "lock"), [("wal", "IMMEDIATE"), ("wal", "EXCLUSIVE"), ("delete", "EXCLUSIVE")])
def test_setup_waits_for_a_locked_database_and_says_so(
    home: Path, drawn: list[Path], monkeypatch: pytest.MonkeyPatch, journal: str, lock: str
) -> None:
    monkeypatch.setattr("services.store.engine._BUSY_MS", 50)
    monkeypatch.setattr(setup, "_RETRY_S", 0.01)
    setup.make_home(home)
    holder = sqlite3.connect(home / "downshift.db", isolation_level=None)
    holder.execute(f"PRAGMA journal_mode={journal}")
    holder.execute("CREATE TABLE somebody_elses (x)")
    holder.execute(f"BEGIN {lock}")
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "locked" in line and sum("locked" in line for line in said) == 2:
            holder.execute("COMMIT")

    assert setup.prepare(Settings(home=home), say)
    assert sum("the database is locked by another program; waiting for it" in line for line in said) == 2
    holder.close()


def test_setup_gives_up_on_a_database_that_stays_locked(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr("services.store.engine._BUSY_MS", 50)
    setup.make_home(home)
    holder = sqlite3.connect(home / "downshift.db", isolation_level=None)
    holder.execute("PRAGMA journal_mode=wal")
    holder.execute("BEGIN IMMEDIATE")
    store = Store.open(Settings(home=home).database_url)
    said: list[str] = []

    def write() -> None:
        with store.transaction() as session:
            session.execute(text("SELECT 1"))

    with pytest.raises(StoreUnavailable, match="locked"):
        setup.when_unlocked(write, said.append, wait_s=0)
    assert said == []
    holder.close()
    store.close()


def test_a_start_with_nothing_to_do_needs_no_write_lock(
    home: Path, drawn: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.prepare(Settings(home=home), say=lambda text: None)
    monkeypatch.setattr("services.store.engine._BUSY_MS", 50)
    holder = sqlite3.connect(home / "downshift.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    said: list[str] = []
    assert setup.prepare(Settings(home=home), said.append) is None
    assert said == []
    holder.close()


def test_a_second_setup_does_and_prints_nothing(home: Path, drawn: list[Path]) -> None:
    setup.prepare(Settings(home=home), say=lambda text: None)
    said: list[str] = []

    token = setup.prepare(Settings(home=home), say=said.append)

    assert token is None
    assert said == []
    assert len(drawn) == 1


@pytest.mark.lengthy
def test_the_sample_dataset_can_be_loaded(home: Path) -> None:
    setup.prepare(Settings(home=home), say=lambda text: None)

    dataset = Dataset.load(home / "datasets" / "shapes")

    assert (dataset.records, dataset.validation_records) == (200, 40)


def test_an_owners_replacement_of_the_sample_is_left_alone(home: Path) -> None:
    mine = home / "datasets" / "shapes" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    setup.prepare(Settings(home=home), say=lambda text: None)

    assert list(mine.parent.iterdir()) == [mine]


@pytest.mark.lengthy
def test_simultaneous_setups_create_one_token_and_one_dataset(home: Path) -> None:
    environment = Settings(home=home).to_environment()
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "services.setup"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=120)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert sum("the first admin token" in text for text in said) == 1
    assert sum("generating" in text for text in said) == 1
    manifest = json.loads((home / "datasets" / "shapes" / "dataset.json").read_text())
    assert manifest["train"]["images"] == 200


def test_a_home_that_others_can_read_is_made_private(home: Path, drawn: list[Path]) -> None:
    (home / "datasets").mkdir(parents=True)
    home.chmod(0o755)

    setup.make_home(home)

    assert mode(home) == 0o700


def test_a_folder_with_other_files_is_refused_instead_of_made_private(home: Path) -> None:
    home.mkdir(mode=0o755)
    (home / "thesis.tex").write_text("")

    with pytest.raises(SettingsError, match=r"DOWNSHIFT_HOME: .* holds other files"):
        setup.make_home(home)

    assert mode(home) == 0o755


def test_a_home_that_cannot_be_created_is_refused_with_its_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SettingsError, match=r"DOWNSHIFT_HOME: .* cannot be used: Not a directory"):
        setup.make_home(tmp_path / "file" / "home")


def test_a_home_that_is_not_writable_is_refused_with_its_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # permissions do not stop root

    with pytest.raises(SettingsError, match=r"DOWNSHIFT_HOME: .* cannot be written to"):
        setup.make_home(home)


def test_a_full_disk_is_reported_with_the_variable_of_the_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, **options: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shapes, "generate", full)

    with pytest.raises(SettingsError, match=r"DOWNSHIFT_HOME: .* cannot be used: No space left on device"):
        setup.prepare(Settings(home=home), say=lambda text: None)


def test_a_file_that_is_not_a_database_is_reported_with_its_variable(home: Path, drawn: list[Path]) -> None:
    home.mkdir()
    (home / "downshift.db").write_text("not a database, but long enough to be looked at as if it were one" * 20)

    with pytest.raises(StoreUnavailable, match="DOWNSHIFT_DATABASE_URL: the database cannot be used"):
        setup.prepare(Settings(home=home), say=lambda text: None)


def test_the_command_prints_an_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOWNSHIFT_HOM", "elsewhere")

    assert setup.main([]) == 2
    assert capsys.readouterr().err.startswith("setup: DOWNSHIFT_HOM: no such setting")
