"""Models, datasets, checkpoints, devices, the queue; health; the two pages."""

import pytest

from services.clock import utc_now
from services.devices import reports
from services.domain import catalogue
from services.domain.jobs.states import State
from services.store import migrate, training_series
from services.store.training_series import Value
from tests.support.api_service import Service, expect_problem
from tests.support.desk import GB, gpu


def test_models_are_the_catalogue(service: Service) -> None:
    models = service.get("/v1/models").json()["items"]
    assert [model["name"] for model in models] == list(catalogue.MODELS)
    assert models[0]["image_size"] == [512, 512]


def test_datasets_are_listed_and_shown(service: Service) -> None:
    (dataset,) = service.get("/v1/datasets").json()["items"]
    assert dataset["classes"] == ["circle", "square", "triangle"]
    assert (dataset["images"], dataset["validation_images"], dataset["problem"]) == (4, 2, None)
    assert dataset["boxes"] == sum(dataset["boxes_per_class"].values()) > 0
    assert set(dataset["boxes_per_class"]) <= set(dataset["classes"])
    assert service.get("/v1/datasets/shapes").json() == dataset


@pytest.mark.parametrize("name", ["none-such", "..", "%2e%2e", "shapes%2f..%2fshapes", "%00"])
def test_a_dataset_that_is_not_there_is_not_found(service: Service, name: str) -> None:
    expect_problem(service.get(f"/v1/datasets/{name}"), 404)


@pytest.mark.parametrize("manifest", ["", "{", "[]", '{"generator": "downshift-shapes", "format_version": 99}'])
def test_a_dataset_that_is_damaged_is_listed_with_its_problem(service: Service, manifest: str) -> None:
    folder = service.settings.datasets_dir / "broken"
    folder.mkdir()
    (folder / "dataset.json").write_text(manifest)
    broken = service.get("/v1/datasets/broken").json()
    assert broken["problem"]
    assert str(service.settings.home) not in broken["problem"]


def test_checkpoints_are_folders(service: Service) -> None:
    assert service.get("/v1/checkpoints").json() == {"items": []}
    folder = service.settings.checkpoints_dir / "coco17"
    folder.mkdir(parents=True)
    (folder / "ckpt-0.index").write_bytes(b"12345")
    (checkpoint,) = service.get("/v1/checkpoints").json()["items"]
    assert (checkpoint["name"], checkpoint["bytes"]) == ("coco17", 5)


def test_devices_tell_what_runs_on_them(service_on_each: Service) -> None:
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


def test_devices_tell_who_else_holds_their_memory(service_on_each: Service) -> None:
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


def test_the_queue_counts(service: Service) -> None:
    service.job()
    service.job()
    service.job(state=State.PAUSED)
    queue = service.get("/v1/queue?limit=1").json()
    assert (queue["queued"], queue["running"], queue["paused"], len(queue["items"])) == (2, 0, 1, 1)
    expect_problem(service.get("/v1/queue?limit=0"), 422)


def test_the_service_is_alive_and_ready_without_a_token(service_on_each: Service) -> None:
    assert service_on_each.get("/healthz", by=None).json() == {"status": "ok"}
    # Nobody listens where the broker should be, and that is no reason to turn people away.
    assert service_on_each.get("/readyz", by=None).json() == {"status": "ready", "broker": "away"}


def test_it_is_not_ready_with_old_tables_or_without_a_database(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.downgrade(service.store.engine)
    expect_problem(service.get("/readyz", by=None), 503, "not_ready")
    (service.settings.home / "downshift.db").unlink()
    service.store.close()
    service.settings.home.rename(service.settings.home.with_name("gone"))
    expect_problem(service.get("/readyz", by=None), 503, "database_away")


def test_the_page_of_the_api_loads_nothing_and_runs_nothing(service: Service) -> None:
    page = service.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "'unsafe" not in page.headers["content-security-policy"]
    for word in ("<script", "src=", "@import", "url(", "https://", "onload"):
        assert word not in page.text


def test_the_documentation_lists_every_operation(service: Service) -> None:
    page = service.get("/docs").text
    for path in ("POST /v1/jobs", "GET /v1/jobs/{job_id}/attempts/{number}/diff", "DELETE /v1/tokens/{token_id}"):
        assert f"<code>{path}</code>" in page


def test_a_device_s_last_hours_are_shown(service: Service) -> None:
    reports.report(service.store, "box", [gpu(0, 24 * GB, 20 * GB)])
    for path in ("/v1/devices/box/gpu-0/history", "/v1/devices/box%2Fgpu-0/history?hours=1&max_points=10"):
        shown = service.get(path).json()
        assert (shown["device"], shown["total_bytes"], shown["others_bytes"]) == ("box/gpu-0", 24 * GB, [4 * GB])
        assert len(shown["at"]) == 1
    expect_problem(service.get("/v1/devices/box/gpu-1/history"), 404)
    expect_problem(service.get("/v1/devices/box/gpu-0/history?hours=25"), 422)
