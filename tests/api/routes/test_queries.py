"""A list of many jobs costs no more queries than a list of one."""

import json

import pytest

from services.clock import utc_now
from services.domain.jobs.states import State
from services.jobs import queries
from services.store import events
from tests.support.api_service import Service
from tests.support.counting import counted
from tests.support.training.records import DEVICE


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/queue"])
def test_the_number_of_queries_does_not_grow_with_the_list(service: Service, path: str) -> None:
    def cost() -> int:
        with counted(service.store) as asked:
            assert service.get(path).status_code == 200
        return len(asked)

    for owner in ("anna", "bert"):
        service.job(owner)
        service.job(owner, State.RUNNING, attempts=1)
    few = cost()
    for _ in range(5):
        service.job()
        service.job(state=State.RUNNING, attempts=1)
        service.job("bert", State.FAILED)
    assert cost() == few <= 10


def test_a_job_shows_its_last_setback_and_what_was_done_about_it(service: Service) -> None:
    fresh, shrunk = service.job(), service.job(state=State.RUNNING, attempts=3)
    listed = {job["id"]: job["setback"] for job in service.get("/v1/jobs").json()["items"]}
    assert listed[fresh] is None
    assert (listed[shrunk]["attempt"], listed[shrunk]["diagnosis"]) == (2, "too_large")  # the third attempt runs
    assert service.get(f"/v1/jobs/{shrunk}").json()["setback"] == listed[shrunk]


def test_a_job_has_advice_and_a_list_of_jobs_has_none(service: Service) -> None:
    ended = service.job(state=State.FAILED, attempts=1)
    shown = service.get(f"/v1/jobs/{ended}").json()
    assert shown["advice"] == []
    with service.store.transaction() as session:
        boxes = {"truths": 0, "classes": 0, "predictions": 3}
        events.add(session, ended, "eval", utc_now(), 1, step=40, metrics={}, images=7, boxes=boxes)
    [advice] = service.get(f"/v1/jobs/{ended}").json()["advice"]
    assert (advice["code"], advice["severity"]) == ("validation_without_objects", "error")
    assert advice["evidence"] == {"images": 7, "truths": 0}
    [listed] = service.get("/v1/jobs").json()["items"]
    assert listed["advice"] is None


def test_a_job_shows_its_current_or_last_device(service: Service) -> None:
    fresh, ended = service.job(), service.job(state=State.FAILED, attempts=2)
    listed = {job["id"]: job["device"] for job in service.get("/v1/jobs").json()["items"]}
    assert listed == {fresh: None, ended: {"id": DEVICE, "name": "CPU slot of 1000 MB"}}


def test_no_jobs_are_no_page_and_no_next(service: Service) -> None:
    page = queries.list_jobs(service.store, service.settings, service.principals["vera"], limit=10)
    assert (page.items, page.before) == ([], None)


def test_only_the_first_unknown_parameters_are_reported(service: Service) -> None:
    answer = service.get("/v1/jobs?" + "&".join(f"x{number}=1" for number in range(1000)))
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 20


def test_a_dataset_with_many_long_classes_can_be_used(service: Service) -> None:
    manifest = service.settings.datasets_dir / "shapes" / "dataset.json"
    described = json.loads(manifest.read_text())
    described["classes"] = [f"{number:0200}" for number in range(10_000)]
    manifest.write_text(json.dumps(described))
    shown = service.get("/v1/datasets/shapes").json()
    assert shown["problem"] is None
    assert len(shown["classes"]) == 10_000
