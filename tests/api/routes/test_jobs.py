"""Jobs over HTTP: accepted and refused requests, and their answers."""

import base64
import json
import typing
from typing import Any

import pytest

from api.schemas.jobs import BestMetric
from services.domain import contract, pipeline_config
from services.domain.jobs.states import State
from tests.support.api_service import BODY, Service, expect_problem
from tests.support.training.zoo import zoo_like


def test_a_job_is_accepted_and_is_where_the_location_says(service_on_each: Service) -> None:
    accepted = service_on_each.post("/v1/jobs", json={"dataset": "shapes", "model": "efficientdet_d0"})

    assert accepted.status_code == 202, accepted.text
    shown = service_on_each.get(accepted.headers["location"])
    assert shown.status_code == 200
    assert {**shown.json(), "config_changes": []} == accepted.json()
    job = shown.json()
    assert job["owner"] == "anna"
    assert job["state"] == "queued"
    assert job["queue_position"] == 1
    assert job["progress"] == {"step": 0, "steps": job["plan"]["steps"], "eta_s": None}
    assert job["created_at"].endswith("Z")
    assert job["current_attempt"] is None
    assert job["attempts"] == 0
    assert shown.headers["etag"] == '"1"'


def test_the_examples_of_the_openapi_work_when_pasted(service: Service) -> None:
    schema = service.get("/openapi.json").json()["components"]["schemas"]["SubmitBody"]
    for example in schema["examples"]:
        assert service.post("/v1/jobs", json=example).status_code == 202
        assert service.post("/v1/estimate", json=example).status_code == 200


def test_the_design_s_own_example_is_understood(service: Service) -> None:
    body = {
        "name": "cones-v2",
        "dataset": "shapes",
        "model": "faster_rcnn_resnet50_fpn",
        "train": {"steps": 2000, "batch_size": 16, "learning_rate": 0.01},
        "image_size": [640, 640],
        "checkpoint": None,
        "pipeline_config": None,
        "policy": {
            "levers": ["micro_batch", "precision", "image_size", "backbone", "batch_size"],
            "min_batch_size": 1,
            "min_image_size": 256,
            "min_backbone": "resnet50",
            "max_attempts": 6,
            "prefer": "shrink",
            "plan_ahead": True,
        },
        "priority": 0,
        "device": {"min_memory_mb": 12},
    }
    job = service.post("/v1/jobs", json=body).json()
    assert job["name"] == "cones-v2"
    assert job["min_memory_bytes"] == 12 * 2**20


WRONG_BODIES: list[tuple[Any, str]] = [
    ({}, "dataset"),
    ({"dataset": "shapes"}, "body"),
    ({"model": "efficientdet_d0"}, "dataset"),
    ({**BODY, "dataset": "shaps"}, "dataset"),
    ({**BODY, "dataset": "../shapes"}, "dataset"),
    ({**BODY, "model": "efficientdet_d9"}, "model"),
    ({**BODY, "checkpoint": "none-such"}, "checkpoint"),
    ({**BODY, "colour": "red"}, "colour"),
    ({**BODY, "train": {"steps": 0}}, "train.steps"),
    ({**BODY, "train": {"steps": "5"}}, "train.steps"),
    ({**BODY, "train": {"steps": 10**30}}, "train.steps"),
    ({**BODY, "train": {"epoch": 3}}, "train.epoch"),
    ({**BODY, "train": {"evaluations": 0}}, "train.evaluations"),
    ({**BODY, "train": {"best_metric": "mask_mAP"}}, "train.best_metric"),
    ({**BODY, "train": {"early_stopping": {"min_gain": 2}}}, "train.early_stopping.min_gain"),
    ({**BODY, "train": {"steps": 100, "early_stopping": {}}}, "train.early_stopping.patience"),
    ({**BODY, "train": {"export": "first"}}, "train.export"),
    ({**BODY, "train": {"batch_size": True}}, "train.batch_size"),
    ({**BODY, "image_size": [256]}, "image_size"),
    ({**BODY, "image_size": [300, 300]}, "image_size"),
    ({**BODY, "policy": {"levers": ["prayer"]}}, "policy.levers.0"),
    ({**BODY, "policy": {"levers": ["precision", "precision"]}}, "policy.levers"),
    ({**BODY, "policy": {"min_backbone": "resnet50"}}, "policy.min_backbone"),
    ({**BODY, "policy": {"max_attempts": 1000}}, "policy.max_attempts"),
    ({**BODY, "priority": 10**6}, "priority"),
    ({**BODY, "device": {"min_memory_mb": -1}}, "device.min_memory_mb"),
    ({**BODY, "name": ""}, "name"),
    ({**BODY, "name": "x" * 129}, "name"),
    ({**BODY, "name": "two\nlines"}, "name"),
    ({**BODY, "notes": "a\x00b"}, "notes"),
    ({**BODY, "notes": "x" * 10_001}, "notes"),
    ({"dataset": "shapes", "pipeline_config": "model { colour: 3 }"}, "pipeline_config"),
    (["dataset"], "body"),
    ("shapes", "body"),
    (None, "body"),
]


@pytest.mark.parametrize(("body", "field"), WRONG_BODIES, ids=lambda value: str(value)[-40:])
def test_a_wrong_body_is_refused_and_the_field_is_named(service: Service, body: Any, field: str) -> None:
    for path in ("/v1/jobs", "/v1/estimate"):
        refused = service.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})

        problem = expect_problem(refused, 422, "invalid")
        assert any(field in error["field"] for error in problem["errors"]), problem
        assert all(error["message"] for error in problem["errors"])
    assert service.get("/v1/jobs").json()["items"] == []


@pytest.mark.parametrize(
    ("body", "close"),
    [({**BODY, "dataset": "shaps"}, "shapes"), ({**BODY, "model": "eficientdet_d0"}, "efficientdet_d0")],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    service: Service, body: dict[str, Any], close: str
) -> None:
    problem = expect_problem(service.post("/v1/jobs", json=body), 422)
    assert f"did you mean {close}" in problem["errors"][0]["message"]


def test_a_float_that_json_does_not_have_is_refused(service: Service) -> None:
    body = json.dumps({**BODY, "train": {"learning_rate": float("nan")}})
    refused = service.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    expect_problem(refused, 422)


def test_half_a_character_is_refused(service: Service) -> None:
    body = json.dumps(BODY)[:-1] + ', "name": "\\ud800"}'
    expect_problem(service.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"}), 422)


def test_a_key_gives_the_same_answer_and_no_second_job(service_on_each: Service) -> None:
    headers = {"Idempotency-Key": "monday-1"}
    first = service_on_each.post("/v1/jobs", json=BODY, headers=headers)
    again = service_on_each.post("/v1/jobs", json=BODY, headers=headers)

    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert len(service_on_each.get("/v1/jobs").json()["items"]) == 1


def test_a_key_stands_for_one_request_of_one_user(service: Service) -> None:
    headers = {"Idempotency-Key": "k"}
    service.post("/v1/jobs", json=BODY, headers=headers)
    expect_problem(service.post("/v1/jobs", json={**BODY, "priority": -3}, headers=headers), 409, "key_reused")
    other = service.post("/v1/jobs", json=BODY, headers=headers, by="bert")
    assert other.status_code == 202
    assert "idempotency-replayed" not in other.headers


@pytest.mark.parametrize("key", ["", "x" * 129, "tab\there", "é"])
def test_a_key_that_is_none_is_refused(service: Service, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    problem = expect_problem(service.post("/v1/jobs", json=BODY, headers=headers), 422)
    assert problem["errors"][0]["field"] == "idempotency-key"


def test_the_limit_of_jobs_is_reported(service: Service) -> None:
    object.__setattr__(service.settings, "max_jobs_per_user", 1)
    service.job()
    expect_problem(service.post("/v1/jobs", json=BODY), 429, "limit_reached")


def test_pages_lead_through_every_job_once_also_when_more_arrive(service_on_each: Service) -> None:
    numbers = [service_on_each.job() for _ in range(5)]
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        page = service_on_each.get(f"/v1/jobs?limit=2{'&cursor=' + cursor if cursor else ''}").json()
        seen += [job["id"] for job in page["items"]]
        cursor = page["next"]
        service_on_each.job()
    assert seen == numbers[::-1]


def test_the_list_is_narrowed_by_state_owner_and_name(service_on_each: Service) -> None:
    service = service_on_each
    first = service.job(name="Cones 100% sure")
    second = service.job("bert", State.FAILED, name="cones 100 sure")
    third = service.job("bert", State.CANCELLED)

    def found(query: str) -> list[int]:
        return [job["id"] for job in service.get(f"/v1/jobs?{query}").json()["items"]]

    assert found("state=failed&state=cancelled") == [third, second]
    assert found("state=failed&state=cancelled&state=failed&state=cancelled&limit=2") == [third, second]
    assert found("owner=anna") == [first]
    assert found("owner=nobody") == []
    assert found("q=CONES") == [second, first]
    assert found("q=100%25") == [first]  # a percent sign is not a wildcard
    assert found("q=_") == [] or third in found("q=_")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=many",
        "state=tired",
        "cursor=zzz",
        "cursor=%00",
        "q=%00",
        "cursor=" + base64.urlsafe_b64encode(b'{"before": -1}').decode(),
        "cursor=" + base64.urlsafe_b64encode(b'{"before": 1e400}').decode(),
        "cursor=" + base64.urlsafe_b64encode(b"[1]").decode(),
    ],
)
def test_a_wrong_query_is_refused_and_the_field_is_named(service: Service, query: str) -> None:
    problem = expect_problem(service.get(f"/v1/jobs?{query}"), 422, "invalid")
    assert problem["errors"][0]["field"].startswith(query.partition("=")[0])


@pytest.mark.parametrize("path", ["/v1/jobs?stat=failed", "/v1/queue?limt=3", "/v1/jobs/1?x", "/v1/models?q=d0"])
def test_a_misspelt_parameter_is_reported(service: Service, path: str) -> None:
    service.job()
    problem = expect_problem(service.get(path), 422, "invalid")
    assert "no such parameter" in problem["errors"][0]["message"]


def test_queue_positions_follow_priority_and_then_arrival(service_on_each: Service) -> None:
    service = service_on_each
    low, first, second = service.job(priority=-2), service.job(priority=-1), service.job(priority=-1)
    high = service.job()
    service.job(state=State.RUNNING, attempts=1)

    jobs = service.get("/v1/jobs").json()["items"]

    assert {job["id"]: job["queue_position"] for job in jobs if job["state"] == "queued"} == {
        high: 1,
        first: 2,
        second: 3,
        low: 4,
    }
    assert [job["id"] for job in service.get("/v1/queue").json()["items"]] == [high, first, second, low]


def test_a_member_s_priority_ends_at_the_usual_one(service: Service) -> None:
    for path in ("/v1/jobs", "/v1/estimate"):
        problem = expect_problem(service.post(path, json={**BODY, "priority": 1}), 422, "invalid")
        assert problem["errors"] == [
            {"field": "priority", "message": "must be at most 0: only admins can put a job ahead of the queue"}
        ]
    job = service.job()
    expect_problem(service.ask("PATCH", f"/v1/jobs/{job}", json={"priority": 1}), 422, "invalid")
    expect_problem(service.post(f"/v1/jobs/{job}/clone", json={"priority": 1}), 422, "invalid")
    assert service.post("/v1/jobs", json={**BODY, "priority": 100}, by="admin").status_code == 202


def test_a_running_job_shows_its_remaining_time(service: Service) -> None:
    job = service.get(f"/v1/jobs/{service.job(state=State.RUNNING, attempts=2)}").json()
    assert job["current_attempt"] == 2
    assert job["queue_position"] is None
    assert job["progress"] == {"step": 40, "steps": 100, "eta_s": 30.0}


def test_a_clone_that_is_sent_again_is_the_same_also_when_the_job_has_another_name(service: Service) -> None:
    job, key = service.job(name="cones"), {"Idempotency-Key": "once"}
    made = service.post(f"/v1/jobs/{job}/clone", headers=key)
    service.ask("PATCH", f"/v1/jobs/{job}", json={"name": "pylons"})
    again = service.post(f"/v1/jobs/{job}/clone", headers=key)
    assert (again.status_code, again.json()["id"], again.json()["name"]) == (202, made.json()["id"], "cones (copy)")
    expect_problem(service.post(f"/v1/jobs/{job}/clone", json={"name": "x"}, headers=key), 409, "key_reused")


@pytest.mark.parametrize("verb", ["", "/cancel", "/pause", "/resume", "/clone"])
def test_a_job_that_does_not_exist_is_not_found(service: Service, verb: str) -> None:
    method = "POST" if verb else "GET"
    expect_problem(service.ask(method, f"/v1/jobs/12345{verb}"), 404, "not_found")
    expect_problem(service.ask(method, f"/v1/jobs/{10**30}{verb}"), 422)
    expect_problem(service.ask(method, f"/v1/jobs/first{verb}"), 422)


def test_an_edit_is_made_only_if_the_job_has_not_changed(service_on_each: Service) -> None:
    job = f"/v1/jobs/{service_on_each.job()}"
    tag = service_on_each.get(job).headers["etag"]

    edited = service_on_each.ask("PATCH", job, json={"name": "new", "priority": -7}, headers={"If-Match": tag})
    late = service_on_each.ask("PATCH", job, json={"name": "late"}, headers={"If-Match": tag})

    assert edited.status_code == 200
    assert (edited.json()["name"], edited.json()["priority"]) == ("new", -7)
    assert edited.headers["etag"] != tag
    expect_problem(late, 412, "version_mismatch")
    assert service_on_each.get(job).json()["name"] == "new"


@pytest.mark.parametrize("tag", ['W/"1"', '"one"', "1", '"99"', '""'])
def test_a_tag_that_is_not_the_job_s_is_refused(service: Service, tag: str) -> None:
    refused = service.ask("PATCH", f"/v1/jobs/{service.job()}", json={"name": "x"}, headers={"If-Match": tag})
    expect_problem(refused, 412)


def test_any_version_or_none_named_is_edited(service: Service) -> None:
    job = f"/v1/jobs/{service.job()}"
    assert service.ask("PATCH", job, json={"notes": "a"}, headers={"If-Match": "*"}).status_code == 200
    assert service.ask("PATCH", job, json={"notes": ""}).json()["notes"] == ""


@pytest.mark.parametrize("body", [{}, {"state": "succeeded"}, {"name": None}, {"name": ""}, {"priority": "1"}, []])
def test_what_cannot_be_edited_is_refused(service: Service, body: Any) -> None:
    expect_problem(service.ask("PATCH", f"/v1/jobs/{service.job()}", json=body), 422)


def test_a_job_is_cancelled_paused_and_resumed(service_on_each: Service) -> None:
    service = service_on_each
    job = f"/v1/jobs/{service.job()}"
    assert service.post(f"{job}/pause").json()["state"] == "paused"
    assert service.post(f"{job}/resume").json()["state"] == "queued"
    assert service.post(f"{job}/cancel").json()["state"] == "cancelled"


def test_a_running_job_is_asked_to_stop(service: Service) -> None:
    job = service.post(f"/v1/jobs/{service.job(state=State.RUNNING, attempts=1)}/cancel").json()
    assert (job["state"], job["stopping"]) == ("running", "cancel")


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        (State.SUCCEEDED, "cancel"),
        (State.FAILED, "pause"),
        (State.CANCELLED, "resume"),
        (State.QUEUED, "resume"),
        (State.PAUSED, "pause"),
        (State.RUNNING, "resume"),
    ],
)
def test_what_the_state_does_not_allow_is_a_conflict(service: Service, state: State, verb: str) -> None:
    problem = expect_problem(service.post(f"/v1/jobs/{service.job(state=state)}/{verb}"), 409, "wrong_state")
    assert str(state) in problem["detail"]


def test_a_clone_is_a_new_job_with_what_was_changed(service: Service) -> None:
    original = service.job(state=State.FAILED, name="cones")
    plain = service.post(f"/v1/jobs/{original}/clone")
    changed = service.post(
        f"/v1/jobs/{original}/clone", json={"train": {"batch_size": 4}}, headers={"Idempotency-Key": "c"}
    )
    again = service.post(
        f"/v1/jobs/{original}/clone", json={"train": {"batch_size": 4}}, headers={"Idempotency-Key": "c"}
    )

    assert plain.status_code == 202
    assert plain.json()["id"] not in (original, changed.json()["id"])
    assert plain.json()["asked"] == service.get(f"/v1/jobs/{original}").json()["asked"]
    assert changed.json()["asked"]["batch_size"] == 4
    assert changed.json()["asked"]["steps"] == 100
    assert again.json() == changed.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_every_metric_of_the_contract_can_be_asked_for() -> None:
    assert set(typing.get_args(BestMetric)) == set(contract.BestMetric)


def test_a_clone_keeps_the_early_stop_until_it_is_taken_back(service: Service) -> None:
    rule = {"patience": 2, "min_gain": 0.01}
    train = {"steps": 50, "batch_size": 4, "evaluations": 10, "early_stopping": rule, "export": "last"}
    job = service.post("/v1/jobs", json={**BODY, "train": train}).json()
    copies = [
        service.post(f"/v1/jobs/{job['id']}/clone", json=changes).json()["id"]
        for changes in ({"train": {"batch_size": 2}}, {"train": {"early_stopping": None}})
    ]
    found = [service.get(f"/v1/jobs/{copy}/request").json()["train"] for copy in copies]
    assert found == [{**train, "batch_size": 2}, {**train, "early_stopping": None}]


def test_what_was_submitted_can_be_read_and_sent_again(service: Service) -> None:
    body = {**BODY, "policy": {"levers": ["batch_size"]}, "notes": "why", "device": {"min_memory_mb": 5}}
    job = service.post("/v1/jobs", json=body).json()
    request = service.get(f"/v1/jobs/{job['id']}/request").json()
    assert {name: request[name] for name in body} == body
    assert service.post("/v1/jobs", json=request).json()["asked"] == job["asked"]
    expect_problem(service.get("/v1/jobs/99/request"), 404)


@pytest.mark.parametrize("body", [{"dataset": None}, {"dataset": "none-such"}, {"nonsense": 1}, {"model": "d0"}])
def test_a_clone_that_cannot_be_is_refused(service: Service, body: Any) -> None:
    expect_problem(service.post(f"/v1/jobs/{service.job()}/clone", json=body), 422)


def test_an_estimate_shows_the_plan_and_creates_no_job(service_on_each: Service) -> None:
    service_on_each.device()
    estimate = service_on_each.post("/v1/estimate", json=BODY)
    assert estimate.status_code == 200, estimate.text
    assert estimate.json()["devices"][0]["fits"] is True
    assert estimate.json()["plan"]["batch_size"] == 8
    assert service_on_each.get("/v1/jobs").json()["items"] == []


OWN: dict[str, Any] = {"dataset": "shapes", "pipeline_config": pipeline_config.to_text(zoo_like("efficientdet_d0"))}


def test_what_is_changed_in_a_submitted_config_is_in_the_answer_and_in_the_estimate(service: Service) -> None:
    body = {**OWN, "checkpoint": None}
    for path, status in (("/v1/estimate", 200), ("/v1/jobs", 202)):
        answer = service.post(path, json=body)
        assert answer.status_code == status, answer.text
        changes = {change["field"]: change for change in answer.json()["config_changes"]}
        assert changes["train_config.fine_tune_checkpoint"]["reason"] == "training starts from random weights"
        assert changes["model.ssd.num_classes"]["before"] == "90"
        assert all(change["reason"] and change["group"] for change in changes.values())
        assert "fields of your pipeline.config changed" in answer.json()["summary"]
    assert service.post("/v1/jobs", json=BODY).json()["config_changes"] == []


def test_a_checkpoint_that_is_left_out_is_not_one_that_is_null(service: Service) -> None:
    for path in ("/v1/jobs", "/v1/estimate"):
        problem = expect_problem(service.post(path, json=OWN), 422, "invalid")
        assert [error["field"] for error in problem["errors"]] == ["checkpoint"]
        assert "POST /v1/checkpoints" in problem["errors"][0]["message"]
    headers = {"Idempotency-Key": "weights"}
    submitted = service.post("/v1/jobs", json={**OWN, "checkpoint": None}, headers=headers)
    assert submitted.status_code == 202
    assert service.get(f"/v1/jobs/{submitted.json()['id']}/request").json()["checkpoint"] is None
    again = service.post("/v1/jobs", json={**OWN, "checkpoint": None}, headers=headers)
    assert again.json() == submitted.json()
    expect_problem(service.post("/v1/jobs", json=OWN, headers=headers), 409, "key_reused")
    clone = service.post(f"/v1/jobs/{submitted.json()['id']}/clone", json={"name": "again"})
    assert clone.status_code == 202, clone.text
    assert clone.json()["config_changes"] == submitted.json()["config_changes"]


def test_a_config_of_endless_blocks_is_refused_at_its_place(service: Service) -> None:
    problem = expect_problem(
        service.post("/v1/estimate", json={**OWN, "pipeline_config": "a{" * 100_000}), 422, "invalid"
    )
    assert problem["errors"][0]["message"].startswith("line 1, column 66: is nested too deep")
