"""The api is killed with -9 while it checks an upload."""

import contextlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import httpx
import pytest

from services import setup
from services.datasets import shapes
from services.settings import Settings
from tests.api.test_process import ROOT, environment, free_port
from tests.support import own_data
from tests.support.newcomer import until


def send(address: str, token: str, archive: Path, query: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/zip"}
    with contextlib.suppress(httpx.TransportError):  # it is killed
        httpx.post(f"{address}/v1/datasets?{query}", content=archive.read_bytes(), headers=headers, timeout=120)


def test_no_dataset_is_visible_and_the_next_start_removes_what_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "generate", lambda folder, **_: folder.mkdir(parents=True))
    settings = Settings(home=tmp_path / "home", bind=f"127.0.0.1:{free_port()}", min_free_disk_mb=0)
    token = setup.prepare(settings, say=lambda _: None) or ""
    for scene in own_data.scenes(train=4, validation=0):
        scene.save(tmp_path / "own")
        (tmp_path / "own" / f"{scene.stem}.txt").write_text(own_data.yolo_lines(scene, segments=False))
    (tmp_path / "own/classes.txt").write_text("\n".join(own_data.CLASSES))
    (tmp_path / "own/train_00.jpg").rename(tmp_path / "own" / f"{'a' * 60}.jpg")
    archive = tmp_path / "own.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in (tmp_path / "own").iterdir():
            made.write(file, file.name)

    address = f"http://{settings.bind}"
    with subprocess.Popen(
        [sys.executable, "-m", "api"], cwd=ROOT, env=environment(settings), stderr=subprocess.DEVNULL
    ) as api:
        try:
            until("the api", lambda: answers(address))
            # The pattern keeps the check busy for some seconds of processor time.
            sender = threading.Thread(target=send, args=(address, token, archive, "name=pets&group=(a%2B)%2B$"))
            sender.start()
            until("the files", lambda: list(settings.home.glob(".upload-*/files/classes.txt")))
            checks = children(api.pid)
            assert checks
            assert setup.prepare(settings, say=lambda _: None) is None  # another start leaves it alone
            assert list(settings.datasets_dir.glob(".upload-*"))
        finally:
            api.kill()
    sender.join()
    until("no check", lambda: not any(Path(f"/proc/{pid}").exists() for pid in checks))
    left = [*settings.home.glob(".upload-*"), *settings.datasets_dir.glob(".*")]
    assert len(left) >= 2
    assert not (settings.datasets_dir / "pets").exists()

    setup.prepare(settings, say=lambda _: None)
    assert not any(folder.exists() for folder in left)
    assert [folder.name for folder in settings.datasets_dir.iterdir()] == ["shapes"]


def children(pid: int) -> list[int]:
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/healthz").is_success
    except httpx.TransportError:
        return False
