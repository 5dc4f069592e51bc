"""`make gpu-check`: every device is tried, and the archive can be replayed and names nobody."""

import io
import json
import os
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from launcher.gpu_check.archive import Scrubber, write_archive
from tests.support.box import FAKE_TRAINER, ROOT
from tests.support.gpu_report import replay, results


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a check of one CPU slot by the fake trainer."""
    folder = tmp_path_factory.mktemp("check")
    behaviour = {"need_mb_per_image": 150, "step_s": 0.01, "observer": os.devnull}
    (folder / "behaviour.json").write_text(json.dumps(behaviour))
    environment = {
        **os.environ,
        "FAKE_TRAINER": str(folder / "behaviour.json"),
        "DOWNSHIFT_TRAINER": FAKE_TRAINER,
        "DOWNSHIFT_DEVICES": "cpu:1500",
    }
    command = [sys.executable, "-m", "launcher", "gpu-check", "--home", str(folder / "home")]
    command += ["--archive", str(folder / "check.tar.gz")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "said.txt").write_text(done.stdout)
    return folder


def test_each_family_trains_and_one_job_runs_out_and_is_re_planned(checked: Path) -> None:
    jobs = {job["shows"]: job for job in results(checked / "check.tar.gz")["jobs"]}
    assert list(jobs) == ["efficientdet_d0", "faster_rcnn_resnet50_fpn", "mask_rcnn_resnet50_fpn", "runs out"]
    assert {job["job"]["state"] for job in jobs.values()} == {"succeeded"}
    assert [attempt["diagnosis"] for attempt in jobs["runs out"]["attempts"]] == ["too_large", "completed"]
    said = (checked / "said.txt").read_text()
    assert all(head in said for head in ("predicted", "measured", "limit", "too_large"))


def test_the_archive_can_be_replayed(checked: Path) -> None:
    replayed = list(replay(checked / "check.tar.gz"))
    assert len(replayed) == 5
    assert [one.ending.diagnosis for one in replayed] == [one.attempt["diagnosis"] for one in replayed]


def test_the_archive_names_no_folder_of_this_machine(checked: Path) -> None:
    text = str(results(checked / "check.tar.gz"))
    assert str(checked) not in text
    assert "owner" not in text


def test_the_archive_has_what_the_check_of_a_card_found(tmp_path: Path) -> None:
    folder = tmp_path / "devices" / "gpu-0"
    folder.mkdir(parents=True)
    (folder / "found.json").write_text('{"gpus": 0}')
    (folder / "check.log").write_text(f"failed call to cuInit in {tmp_path}")
    write_archive(tmp_path / "check.tar.gz", Scrubber(tmp_path), {}, {"gpu-0/check": folder})
    with tarfile.open(tmp_path / "check.tar.gz") as archive:
        found = {name: (archive.extractfile(name) or io.BytesIO()).read().decode() for name in archive.getnames()}
    assert found["gpu-0/check/found.json"] == '{"gpus": 0}'
    assert found["gpu-0/check/check.log"] == "failed call to cuInit in HOME"


def test_what_names_people_and_hosts_is_replaced(tmp_path: Path) -> None:
    scrub = Scrubber(tmp_path)
    said = scrub.text(f"{tmp_path}/jobs/1 of {socket.gethostname()} at 192.168.1.7, /home/anna/cats.record: bad")
    assert said == "HOME/jobs/1 of HOST at ADDRESS, PATH: bad"
    values = {"processes": [{"name": "secret"}], "list": [str(tmp_path)], "n": 1}
    assert scrub.value(values) == {"list": ["HOME"], "n": 1}
