"""Devices: what runs on them, who holds their memory, and their recent use."""

from services.clock import utc_now
from services.devices import qualification, reports
from services.devices.qualification import DueCheck
from services.domain.gpus.qualification import CheckEnd
from services.domain.jobs.states import State
from services.store import training_series
from services.store.training_series import Value
from tests.support.api_service import Service, expect_problem
from tests.support.desk import GB, gpu
from tests.support.training.fake_qualifier import GOOD


def test_devices_show_the_job_that_runs_on_them(service_on_each: Service) -> None:
    job = service_on_each.job(state=State.RUNNING, attempts=1)
    service_on_each.device(leased_to=job)
    (device,) = service_on_each.get("/v1/devices").json()["items"]
    assert (device["job"]["id"], device["job"]["attempt"]) == (job, 1)
    assert (device["job"]["limit_bytes"], device["job"]["peak_bytes"]) == (1000 * 2**20, 900 * 2**20)
    assert device["job"]["predicted"]["high_bytes"] == 990 * 2**20
    assert (device["job"]["name"], device["job"]["owner"]) == ("efficientdet_d0 on shapes", "anna")
    assert device["is_present"] is True
    assert device["total_bytes"] == 8 * 2**30
    assert device["job"]["phase"] == "training"
    assert device["job"]["progress"] == {"step": 40, "steps": 100, "eta_s": 30.0}


def test_a_slot_s_memory_is_its_job_s_as_far_as_the_trainer_says(service_on_each: Service) -> None:
    job = service_on_each.job(state=State.RUNNING, attempts=1)
    service_on_each.device(leased_to=job)
    (device,) = service_on_each.get("/v1/devices").json()["items"]
    assert (device["free_bytes"], device["ours_bytes"], device["others_bytes"]) == (8 * GB, 0, 0)
    with service_on_each.store.transaction() as session:
        values = [Value("device_memory", step, held, utc_now()) for step, held in ((1, GB), (2, 3 * GB))]
        training_series.record(session, job, 1, values)
    (device,) = service_on_each.get("/v1/devices").json()["items"]
    assert (device["free_bytes"], device["ours_bytes"], device["others_bytes"]) == (5 * GB, 3 * GB, 0)


def test_devices_show_other_processes_and_their_memory(service_on_each: Service) -> None:
    service_on_each.device(
        processes=[
            {"pid": 4711, "name": "python", "used_bytes": 3 * 2**30},
            {"pid": 4712, "name": None, "used_bytes": None},
        ],
        free_bytes=4 * GB,
    )
    (device,) = service_on_each.get("/v1/devices").json()["items"]
    assert (device["free_bytes"], device["ours_bytes"], device["others_bytes"]) == (4 * GB, 0, 4 * GB)
    assert [process["pid"] for process in device["processes"]] == [4711, 4712]
    assert device["job"] is None


def test_a_device_s_last_hours_are_shown(service: Service) -> None:
    reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB)])
    for path in ("/v1/devices/box/gpu-0/history", "/v1/devices/box%2Fgpu-0/history?hours=1&max_points=10"):
        shown = service.get(path).json()
        assert (shown["device"], shown["total_bytes"], shown["others_bytes"]) == ("box/gpu-0", 24 * GB, [4 * GB])
        assert len(shown["at"]) == 1
    expect_problem(service.get("/v1/devices/box/gpu-1/history"), 404)
    expect_problem(service.get("/v1/devices/box/gpu-0/history?hours=25"), 422)


def test_a_gpu_shows_its_last_check_and_an_admin_may_have_another(service_on_each: Service) -> None:
    service = service_on_each
    reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB, fingerprint="a")])
    (device,) = service.get("/v1/devices").json()["items"]
    assert (device["qualification"], device["problem"]) == (None, "it is being checked before its first job")
    due = DueCheck("box/gpu-0", "gpu-0", "a")
    qualification.record(service.store, due, CheckEnd(GOOD, "", 0, 7.0), utc_now())
    reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB, fingerprint="a")])
    (device,) = service.get("/v1/devices").json()["items"]
    assert (device["problem"], device["qualification"]["ok"]) == (None, True)
    assert device["qualification"]["precisions"] == {"float32": "ok", "float16": "ok", "bfloat16": "ok"}
    assert device["qualification"]["versions"]["cudnn"] == "9.10.2.21"
    assert "fingerprint" not in device["qualification"]

    path, key = "/v1/devices/box/gpu-0/qualify", {"Idempotency-Key": "once"}
    expect_problem(service.post(path), 403)
    asked = service.post(path, by="admin", headers=key)
    assert (asked.status_code, asked.json()["id"]) == (200, "box/gpu-0")
    assert asked.json()["qualification"]["asked_at"] is not None
    reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB, fingerprint="a")])
    (device,) = service.get("/v1/devices").json()["items"]
    assert device["problem"] == "it is being checked again"
    qualification.record(service.store, due, CheckEnd(GOOD, "", 0, 7.0), utc_now())
    again = service.post(path, by="admin", headers=key)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["qualification"]["asked_at"] is None
    [entry] = service.get("/v1/audit?kind=device", by="admin").json()["items"]
    assert (entry["action"], entry["target"]) == ("device.qualify", "device box/gpu-0")


def test_a_slot_or_an_unknown_device_cannot_be_checked(service: Service) -> None:
    service.device()
    expect_problem(service.post("/v1/devices/box/cpu-0/qualify", by="admin"), 409)
    expect_problem(service.post("/v1/devices/box/gpu-7/qualify", by="admin"), 404)
