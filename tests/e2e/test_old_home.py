"""A HOME of version 0.1.0 under the code of today: nothing in it is lost, and what was under way goes on."""

import contextlib
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from api.app import create_app
from services import setup
from services.attempt_paths import attempt_dir
from services.domain.jobs.states import FINAL, State
from services.settings import Settings
from services.store.devices import leases
from services.store.engine import Store
from services.store.models import Event, Job, Lease, Metric
from services.users import principal
from services.users.principal import Principal
from tests.faults.fault_box import FaultBox
from tests.support import old_home
from tests.support.box import TIMEOUT_S
from tests.support.old_home import JOBS, PASSWORD, TOKENS
from worker.process_locks import boot_id, is_alive, is_free

WAITING = ("larger", "none large enough")  # for a device that no host has


class OldBox(FaultBox):
    """A box on a home that is there already."""

    def furnish(self) -> Principal:
        return principal.authenticate(self.store, TOKENS["anna"])

    def __init__(self, home: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(home, store, monkeypatch, devices=old_home.DEVICES, host=old_home.HOST, rate_limit=0)
        self.client = TestClient(create_app(self.settings, store), base_url="http://localhost")

    def ask(self, method: str, path: str, *, by: str = "anna", **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKENS[by]}", **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, *, by: str = "anna", **params: Any) -> httpx.Response:
        answer = self.ask("GET", path, by=by, params=params)
        assert answer.status_code == 200, (path, params, answer.text)
        return answer

    def until_final(self, *job_ids: int) -> list[Job]:
        """Many jobs, one after another."""
        return self.until("the end", lambda: self._final(job_ids), 3 * TIMEOUT_S)

    def lease(self, name: str) -> Lease | None:
        with self.store.reading() as session:
            return leases.of_job(session, JOBS[name])

    def is_of_this_boot(self) -> None:
        """The service was stopped and started, the host was not."""
        with self.store.transaction() as session:
            session.execute(update(Lease).values(boot_id=boot_id()))

    def steps(self, name: str, number: int) -> list[int]:
        """The steps of an attempt that the database has a loss of."""
        asked = select(Metric.step).where(Metric.job_id == JOBS[name], Metric.attempt == number)
        with self.store.reading() as session:
            return sorted(session.scalars(asked.where(Metric.name == "Loss/total_loss")))

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        asked = select(Event.data).where(Event.job_id == JOBS[name], Event.kind == kind).order_by(Event.id)
        with self.store.reading() as session:
            return list(session.scalars(asked))

    def supervise(self, name: str) -> "subprocess.Popen[bytes]":
        """Stand in for the processes of the old version that train the job's first attempt.

        They have what the old ones had, by which those are found: the command line, both kernel locks, the mark in the
        trainer's environment, and the note in the attempt directory, with the fields that the old version wrote.
        """
        folder = attempt_dir(self.settings, JOBS[name], 1)
        note = folder / "supervisor.json"
        before = json.loads(note.read_text())
        note.unlink()
        lease = self.lease(name)
        assert lease is not None
        key = lease.device_id.removeprefix(f"{old_home.HOST}/")
        supervisor = self._start(
            [sys.executable, "-m", "worker.supervisor", str(JOBS[name]), "1", lease.token, key],
            {**os.environ, **self.settings.to_environment()},
        )
        now = dataclasses.asdict(self.running(JOBS[name]))
        note.write_text(json.dumps({field: now[field] for field in before}))
        mark = f"TRAINER_OF_DOWNSHIFT={hashlib.sha256(lease.token.encode()).hexdigest()}"
        assert mark.encode() in Path(f"/proc/{now['trainer']}/environ").read_bytes().split(b"\0")
        for lock in (f"job-{JOBS[name]}.lock", f"device-{key}.lock"):
            assert not is_free(self.home / "locks" / lock)
        return supervisor


@pytest.fixture
def box(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OldBox]:
    """On each of the two databases, brought up to date as the service does it when it starts."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    old_home.unpack(home, database_url)
    assert setup.prepare(Settings(home=home, database_url=database_url)) is None  # it has its admin
    with contextlib.closing(Store.open(database_url)) as store:
        made = OldBox(home, store, monkeypatch)
        yield made
        made.close()


def test_every_job_is_listed_and_shown(box: OldBox) -> None:
    listed = {job["name"]: job for job in box.get("/v1/jobs", by="vera", limit=100).json()["items"]}
    assert {name: job["id"] for name, job in listed.items()} == JOBS
    for state in ("succeeded", "failed", "cancelled", "paused", "running", "queued"):  # each has a job of that name
        assert listed[state]["state"] == state
    assert [job["name"] for job in box.get("/v1/jobs", q="large enough").json()["items"]] == ["none large enough"]
    for name, job_id in JOBS.items():
        path = f"/v1/jobs/{job_id}"
        job = box.get(path).json()
        assert (job["name"], job["state"]) == (name, listed[name]["state"])
        assert box.get(f"{path}/request").json()["dataset"] == "shapes"
        attempts = box.get(f"{path}/attempts").json()["items"]
        assert [attempt["number"] for attempt in attempts] == list(range(1, job["attempts"] + 1))
        for attempt in attempts:
            show_attempt(box, path, attempt)
        assert bool(box.get(f"{path}/metrics").json()["series"]) == (job["progress"]["step"] > 0)
        for artifact in box.get(f"{path}/artifacts").json()["items"]:
            content = box.get(f"{path}/artifacts/{artifact['name']}").content
            assert artifact["bytes"] in (None, len(content))  # None: packed while it is sent
        if job["state"] in FINAL:
            assert "event: submitted" in box.get(f"{path}/events").text


def show_attempt(box: OldBox, path: str, attempt: dict[str, Any]) -> None:
    number = attempt["number"]
    place = f"{path}/attempts/{number}"
    assert box.get(place).json() == attempt
    assert "num_steps" in box.get(f"{place}/config").text
    for against in ("previous", "submitted"):
        assert all(change["reason"] for change in box.get(f"{place}/diff", against=against).json()["changes"])
    assert "fake trainer" in box.get(f"{path}/logs", attempt=number).text
    assert box.get(f"{path}/logs/lines", attempt=number).json()["lines"]
    assert box.get(f"{path}/logs/search", attempt=number, q="FAKE").json()["matches"]
    assert box.get(f"{path}/logs/error", attempt=number).json()["attempt"] == number


def test_what_attempts_came_to_is_kept(box: OldBox) -> None:
    """Diagnoses, plans and changes, and the series of losses."""
    first, second = box.get(f"/v1/jobs/{JOBS['smaller']}/attempts").json()["items"]
    assert (first["diagnosis"], second["diagnosis"]) == ("too_large", "completed")
    assert (first["plan"]["micro_batch"], second["plan"]["micro_batch"]) == (8, 2)
    diff = box.get(f"/v1/jobs/{JOBS['smaller']}/attempts/2/diff").json()
    assert "micro_batch" in {change["lever"] for change in diff["changes"]}
    failed = box.get(f"/v1/jobs/{JOBS['failed']}").json()
    assert failed["reason"].startswith("All 3 attempts that the policy allows are used.")
    [series] = box.get(f"/v1/jobs/{JOBS['succeeded']}/metrics", names="Loss/total_loss").json()["series"]
    assert series["name"] == "Loss/total_loss"
    assert box.steps("succeeded", 1) == [1, 2, 3, 4, 5, 6]
    assert "model.ssd" in box.get(f"/v1/jobs/{JOBS['own config']}/attempts/1/diff", against="submitted").text


def test_the_rest_of_the_service_is_kept(box: OldBox) -> None:
    assert {user["name"] for user in box.get("/v1/users", by="admin").json()["items"]} >= {"anna", "bert", "vera"}
    owners = [token["user"] for token in box.get("/v1/tokens", by="admin").json()["items"]]
    assert sorted(owners) == ["admin", "anna", "bert", "vera"]
    assert [device["id"] for device in box.get("/v1/devices").json()["items"]] == [
        "box/cpu-0",
        "box/cpu-1",
        "box/cpu-2",
    ]
    assert box.get("/v1/devices/box/cpu-0/history").status_code == 200
    assert box.get("/v1/queue").json()["running"] == 2
    assert [dataset["problem"] for dataset in box.get("/v1/datasets").json()["items"]] == [None]
    assert [checkpoint["name"] for checkpoint in box.get("/v1/checkpoints").json()["items"]] == ["zoo"]
    [webhook] = box.get("/v1/webhooks").json()["items"]
    assert len(box.get(f"/v1/webhooks/{webhook['id']}/deliveries").json()["items"]) == 4
    assert box.get("/v1/audit", by="admin", kind="job").json()["items"]
    assert 'downshift_jobs{state="succeeded"} 4' in box.get("/metrics", by="admin").text


def test_tokens_passwords_and_idempotency_keys_are_still_good(box: OldBox) -> None:
    for name in ("admin", "anna", "bert", "vera"):
        assert box.get("/v1/whoami", by=name).json()["user"] == name
    assert box.ask("GET", "/v1/whoami", by="revoked").status_code == 401
    given = {"user": "anna", "password": PASSWORD}
    assert box.client.post("/v1/session", json=given).status_code == 204
    box.client.cookies.clear()
    request = box.get(f"/v1/jobs/{JOBS['succeeded']}/request").json()
    again = box.ask("POST", "/v1/jobs", json=request, headers={"Idempotency-Key": "once"})
    assert (again.status_code, again.json()["id"]) == (202, JOBS["succeeded"])
    assert box.get("/v1/jobs", limit=100).json()["items"][0]["id"] == max(JOBS.values())


def test_what_was_under_way_goes_on_and_what_waited_starts(box: OldBox) -> None:
    box.is_of_this_boot()
    box.behave(step_s=1.0)
    taken_in = box.job(JOBS["running"]).step
    supervisor = box.supervise("running")
    running = box.running(JOBS["running"])
    before = box.lease("running")
    box.until_step(JOBS["running"], taken_in + 5)
    box.behave()
    box.work()

    # The attempt that trains: nobody starts a second one, and what it reports is taken in, from where that had ended.
    box.until("steps", lambda: box.job(JOBS["running"]).step >= taken_in + 8)
    assert is_alive(running.supervisor, running.supervisor_started)
    assert is_alive(running.trainer, running.trainer_started)
    now = box.lease("running")
    assert before is not None
    assert now is not None
    assert (now.token, now.attempt) == (before.token, 1)
    assert now.expires_at > before.expires_at
    assert (box.job(JOBS["running"]).state, box.job(JOBS["running"]).attempts) == (State.RUNNING, 1)
    box.kill(supervisor)

    # The outcome that was only on disk, and those that were queued: one of them had begun before.
    resumed = box.ask("POST", f"/v1/jobs/{JOBS['paused']}/resume")
    assert (resumed.status_code, resumed.json()["state"]) == (200, "queued")
    names = ["ended", "queued", "waiting", "held", "interrupted", "paused", "running"]
    ends = dict(zip(names, box.until_final(*(JOBS[name] for name in names)), strict=True))
    assert {name: (job.state, job.attempts) for name, job in ends.items()} == {
        "ended": ("succeeded", 1),
        "queued": ("succeeded", 1),
        "waiting": ("succeeded", 1),
        "held": ("succeeded", 2),
        "interrupted": ("succeeded", 2),
        "paused": ("succeeded", 2),
        "running": ("succeeded", 2),
    }
    assert box.steps("ended", 1) == [1, 2, 3, 4, 5, 6]
    assert box.steps("paused", 2) == [3, 4, 5, 6, 7, 8]  # from the old checkpoint
    first, second = box.steps("running", 1), box.steps("running", 2)
    assert first + second == list(range(1, 41))
    checkpoints = [event["step"] for event in box.events("running", "checkpoint")]
    assert checkpoints == list(range(1, 41))
    for name in names:
        assert "event: ended" in box.get(f"/v1/jobs/{JOBS[name]}/events").text
    for name in WAITING:
        assert box.get(f"/v1/jobs/{JOBS[name]}").json()["state"] == "queued"
    box.check()


def test_after_a_restart_of_the_host_the_job_that_ran_goes_on_from_its_checkpoint(box: OldBox) -> None:
    for name in ("waiting", "held", "interrupted", "queued"):
        cancelled = box.ask("POST", f"/v1/jobs/{JOBS[name]}/cancel", by="admin")
        assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    box.work()
    ended, ran = box.until_final(JOBS["ended"], JOBS["running"])
    assert box.leases() == []
    assert (ended.state, ended.attempts) == (State.SUCCEEDED, 1)
    assert box.attempts(JOBS["ended"])[0].exit_status == 0  # by its supervisor's note
    assert (ran.state, ran.attempts) == (State.SUCCEEDED, 2)
    first, second = box.steps("running", 1), box.steps("running", 2)
    assert first + second == list(range(1, 41))
    assert box.attempts(JOBS["running"])[0].diagnosis == "interrupted"
