"""`python -m launcher gpu-check`: try every card of this box, and write one archive for a bug report.

Each card is checked, trains one tiny plan of each family, runs out of memory once and is re-planned. What was
predicted, what was measured and what TensorFlow gave is printed side by side. It takes a few minutes a card.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launcher import addresses
from launcher.demo import home as own_home
from launcher.demo import report
from launcher.demo.progress import ProgressLine
from launcher.demo.service import Api, DemoFailed, serving
from launcher.gpu_check.archive import Scrubber, write_archive
from services import setup
from services.attempt_paths import attempt_dir, qualification_dir
from services.domain.diagnosis.case import Diagnosis
from services.domain.sizes import in_mb
from services.settings import Settings

__all__ = ["check"]

_TINY = ("efficientdet_d0", "faster_rcnn_resnet50_fpn", "mask_rcnn_resnet50_fpn")
_TOO_LARGE = 1.5  # of the card's memory: what the job that must run out is predicted to need
_LARGEST_BATCH = 4096
_DEVICES_S, _JOB_S, _POLL_S = 900.0, 2400.0, 0.5  # kernels may be compiled for half an hour
_FINAL = ("succeeded", "failed", "cancelled")
_HOST = "box"  # instead of the host's own name


@dataclass
class _Checked:
    """A card and its jobs: (what it shows, job, attempts)."""

    device: dict[str, Any]
    settings: Settings
    jobs: list[tuple[str, dict[str, Any], Sequence[dict[str, Any]]]] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.device["problem"] and bool(self.jobs) and all(_is_as_meant(*job) for job in self.jobs)


def check(home: Path, settings: Settings, archive: Path) -> bool:
    """Check every device that `settings.devices` names; returns whether all did what they should.

    `home` is emptied first and must be of an earlier check. Raises DemoFailed or DemoHomeError.
    """
    progress = ProgressLine(sys.stdout)
    own_home.make_fresh(home)
    everything = _settings(home / "all", settings, settings.devices)
    found = _devices(everything, progress)
    checked = []
    for device in found:
        one = _Checked(device, _settings(home / device["key"], settings, _setting_of(device)))
        checked.append(one)
        progress.say(f"{device['id']}: {device['name']}, {_about(device)}")
        if device["problem"]:
            progress.say(report.wrapped(f"  no job starts on it: {device['problem']}"))
            continue
        _try_card(one, progress)
    _print_table(checked, progress)
    _write(archive, home, everything, checked)
    progress.say(f"The archive for a bug report: {archive}. It has versions, logs and figures, no data and no names.")
    return bool(checked) and all(one.is_good for one in checked)


def _settings(home: Path, settings: Settings, devices: str) -> Settings:
    home.mkdir(mode=0o700)
    bind = addresses.free_bind(("127.0.0.1", 0))
    return Settings(
        home=home,
        devices=devices,
        bind=bind,
        host=_HOST,
        trainer=settings.trainer,
        qualifier=settings.qualifier,
        qualify_s=settings.qualify_s,
    )


def _devices(settings: Settings, progress: ProgressLine) -> list[dict[str, Any]]:
    """All devices, once each is checked or has a problem."""
    with serving(settings) as api:
        deadline = time.monotonic() + _DEVICES_S
        while True:
            found = [_with_key(device) for device in api.get("/v1/devices")["items"]]
            if found and not any(device["is_being_checked"] for device in found):
                return found
            if time.monotonic() >= deadline:
                raise DemoFailed(f"the devices were not checked within {report.duration(_DEVICES_S)}")
            progress.show("checking the devices")
            time.sleep(_POLL_S)


def _with_key(device: dict[str, Any]) -> dict[str, Any]:
    return {**device, "key": device["id"].partition("/")[2]}


def _setting_of(device: dict[str, Any]) -> str:
    """DOWNSHIFT_DEVICES for this device alone: `gpu:0` of the key `gpu-0`, `gpu:0:1` of `gpu-0-mig-1`."""
    if device["kind"] != "gpu":
        return f"cpu:{device['total_bytes'] // 2**20}"
    return str(device["key"]).replace("-mig-", ":").replace("gpu-", "gpu:")


def _about(device: dict[str, Any]) -> str:
    if device["kind"] != "gpu":
        return "a CPU slot"
    return f"{in_mb(device['total_bytes'])}, capability {device['capability']}, driver {device['driver']}"


def _try_card(one: _Checked, progress: ProgressLine) -> None:
    with serving(one.settings) as api:
        for model in _TINY:
            request = {"dataset": setup.SAMPLE, "model": model, "image_size": [256, 256]}
            _train(api, one, model, {**request, "train": {"steps": 4, "batch_size": 2}}, progress)
        _train(api, one, "runs out", _too_large(api, one.device["total_bytes"]), progress)


def _too_large(api: Api, memory: int) -> dict[str, Any]:
    """A job that needs more than the card has, and may be made smaller."""
    batch = 8
    while True:
        request = {
            "dataset": setup.SAMPLE,
            "model": "efficientdet_d0",
            "image_size": [256, 256],
            "train": {"steps": 2, "batch_size": batch},
            "policy": {"plan_ahead": False},
        }
        alone = api.post("/v1/estimate", {**request, "policy": {"levers": [], "plan_ahead": False}})
        if alone["predicted"]["bytes"] >= _TOO_LARGE * memory or batch >= _LARGEST_BATCH:
            return request
        batch *= 2


def _train(api: Api, one: _Checked, shows: str, request: dict[str, Any], progress: ProgressLine) -> None:
    job = api.post("/v1/jobs", {"name": f"gpu-check {shows}", **request}, key=shows)
    path, started = f"/v1/jobs/{job['id']}", time.monotonic()
    while job["state"] not in _FINAL:
        if time.monotonic() - started >= _JOB_S:
            api.post(f"{path}/cancel")
            raise DemoFailed(f"{shows}: the job has not ended within {report.duration(_JOB_S)}")
        attempts = api.get(f"{path}/attempts")["items"]
        progress.show(f"{shows}: {report.progress(job, attempts, time.monotonic() - started)}")
        time.sleep(_POLL_S)
        job = api.get(path)
    one.jobs.append((shows, job, api.get(f"{path}/attempts")["items"]))
    progress.say(report.wrapped(f"  {shows}: {job['state']}" + (f": {job['reason']}" if job["reason"] else "")))


def _is_as_meant(shows: str, job: dict[str, Any], attempts: Sequence[dict[str, Any]]) -> bool:
    ran_out = any(attempt["diagnosis"] == Diagnosis.TOO_LARGE for attempt in attempts)
    return job["state"] == "succeeded" and (shows in _TINY or ran_out)


def _print_table(checked: Sequence[_Checked], progress: ProgressLine) -> None:
    rows = [
        [
            one.device["key"],
            shows,
            f"{attempt['plan']['batch_size']} in {attempt['plan']['micro_batch']}",
            report.memory((attempt["predicted"] or {}).get("bytes")),
            report.memory(attempt["measured_peak_bytes"]),
            report.memory(attempt["limit_bytes"]),
            attempt["diagnosis"] or "",
        ]
        for one in checked
        for shows, _, attempts in one.jobs
        for attempt in attempts
    ]
    progress.say()
    heads = ["device", "job", "batch", "predicted", "measured", "limit", "end"]
    progress.say(report.table(heads, rows, [10, 24, 9, 9, 9, 9, 12]))


def _write(archive: Path, home: Path, everything: Settings, checked: Sequence[_Checked]) -> None:
    """`everything`: the settings of the service that checked all devices."""
    folders = {f"{one.device['key']}/check": qualification_dir(everything, one.device["key"]) for one in checked}
    folders |= {
        f"{one.device['key']}/job-{job['id']}/attempt-{attempt['number']}": attempt_dir(
            one.settings, job["id"], attempt["number"]
        )
        for one in checked
        for _, job, attempts in one.jobs
        for attempt in attempts
    }
    results = {
        "devices": [one.device for one in checked],
        "jobs": [
            {"device": one.device["key"], "shows": shows, "job": job, "attempts": attempts}
            for one in checked
            for shows, job, attempts in one.jobs
        ],
    }
    write_archive(archive, Scrubber(home), results, folders)
