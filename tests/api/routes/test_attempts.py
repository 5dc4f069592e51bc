"""Attempts: their settings, differences and metrics."""

from typing import Any

import pytest

from services.domain import pipeline_config
from services.domain.jobs.states import State
from services.store.models import Attempt
from tests.support.api_service import Service, expect_problem
from tests.support.training.zoo import zoo_like


def test_attempts_show_plan_device_times_and_end(service_on_each: Service) -> None:
    job = service_on_each.job(state=State.RUNNING, attempts=2)

    first, second = service_on_each.get(f"/v1/jobs/{job}/attempts").json()["items"]

    assert (first["number"], second["number"]) == (1, 2)
    assert (first["outcome"], first["diagnosis"], first["exit_status"]) == ("device_memory", "too_large", 20)
    assert first["evidence"] == {"reason": "device_memory", "step": 40}
    assert first["measured_peak_bytes"] == 900 * 2**20
    assert first["limit_bytes"] == 1000 * 2**20
    assert first["predicted"]["source"] == "scaled"
    assert first["device"] == {"id": "box/cpu-0", "name": "CPU slot of 1000 MB"}
    assert (second["outcome"], second["ended_at"]) == (None, None)
    assert second["plan"]["micro_batch"] == 4
    assert second["changes"][0]["lever"] == "micro_batch"
    assert service_on_each.get(second["links"]["self"]).json() == second


@pytest.mark.parametrize(
    ("ended", "evaluation_mb", "error"),
    [
        ({"reason": "completed"}, None, 0.0556),  # 950 MB predicted, 900 measured
        ({"reason": "stopped"}, 1000, -0.05),
        ({"reason": "completed", "step_s": None}, None, None),  # it never trained: no training peak
        ({"reason": "device_memory"}, None, None),
        ({"reason": None}, None, None),
    ],
)
def test_an_attempt_shows_its_prediction_error(
    service: Service, ended: dict[str, Any], evaluation_mb: int | None, error: float | None
) -> None:
    job = service.job(attempts=1, state=State.FAILED)
    peak = evaluation_mb * 2**20 if evaluation_mb else None
    outcome = {"allocator": {"evaluation_peak": peak}, "host_peak_bytes": 12345}
    with service.store.transaction() as session:
        row = session.get(Attempt, (job, 1))
        assert row is not None
        for name, value in {"outcome": outcome, **ended}.items():
            setattr(row, name, value)

    (attempt,) = service.get(f"/v1/jobs/{job}/attempts").json()["items"]

    assert attempt["prediction_error"] == error
    assert attempt["measured_evaluation_peak_bytes"] == peak
    assert attempt["measured_host_peak_bytes"] == 12345
    assert attempt["predicted"]["points"] == 0


def test_a_job_that_waits_has_no_attempts(service: Service) -> None:
    assert service.get(f"/v1/jobs/{service.job()}/attempts").json() == {"items": []}


@pytest.mark.parametrize("what", ["attempts/3", "attempts/3/config", "attempts/3/diff", "logs?attempt=3"])
def test_an_attempt_that_was_not_made_is_not_found(service: Service, what: str) -> None:
    job = service.job(attempts=2, state=State.FAILED)
    problem = expect_problem(service.get(f"/v1/jobs/{job}/{what}"), 404)
    assert "it has 2 so far" in problem["detail"]
    expect_problem(service.get(f"/v1/jobs/999/{what}"), 404)
    expect_problem(service.get(f"/v1/jobs/{job}/{what.replace('3', '0')}"), 422)


def test_the_config_is_what_was_run(service: Service) -> None:
    job = service.job(attempts=1, state=State.FAILED)
    answer = service.get(f"/v1/jobs/{job}/attempts/1/config")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert pipeline_config.parse(answer.text).train_config.batch_size == 8


NO_PARTS = {"what": None, "why": None, "cost": None, "group": None}  # a stored reason that is not split into parts


def test_a_diff_names_each_field_with_its_reason(service_on_each: Service) -> None:
    job = service_on_each.job(attempts=3, state=State.RUNNING)

    diff = service_on_each.get(f"/v1/jobs/{job}/attempts/3/diff").json()

    assert (diff["attempt"], diff["against"]) == (3, 2)
    by_field = {change["field"]: change for change in diff["changes"]}
    assert by_field["micro_batch"] == {
        "field": "micro_batch",
        "before": "4",
        "after": "2",
        "lever": "micro_batch",
        "reason": "the batch is computed in pieces of 2: attempt 2 ran out",
        **NO_PARTS,
    }
    assert by_field["train_config.use_bfloat16"] == {
        "field": "train_config.use_bfloat16",
        "before": "false",
        "after": "true",
        "lever": "precision",
        "reason": "activations are kept in bfloat16: it was not enough",
        **NO_PARTS,
    }
    assert len(by_field) == 2


def test_the_first_diff_is_against_what_was_asked_for(service: Service) -> None:
    job = service.job(attempts=1, state=State.RUNNING)
    diff = service.get(f"/v1/jobs/{job}/attempts/1/diff").json()
    assert diff["against"] is None
    assert diff["changes"], "the readers were sized to the dataset"
    assert {change["lever"] for change in diff["changes"]} == {None}
    assert {change["reason"] for change in diff["changes"]} == {"sized to the dataset and to the host's free memory"}
    assert not any("path" in change["field"] for change in diff["changes"])


def test_series_come_in_columns_and_are_thinned(service_on_each: Service) -> None:
    job = service_on_each.job(attempts=2, state=State.RUNNING)

    whole = service_on_each.get(f"/v1/jobs/{job}/metrics").json()
    thin = service_on_each.get(f"/v1/jobs/{job}/metrics?names=Loss/total_loss&max_points=4").json()

    assert whole["names"] == ["Loss/total_loss", "learning_rate"]
    assert [(series["name"], series["attempt"], len(series["steps"])) for series in whole["series"]] == [
        ("Loss/total_loss", 1, 40),
        ("Loss/total_loss", 2, 40),
        ("learning_rate", 1, 1),
        ("learning_rate", 2, 1),
    ]
    assert whole["series"][0]["min"] == whole["series"][0]["max"] == whole["series"][0]["mean"]
    assert thin["series"][0]["steps"] == [11, 23, 35, 40]  # each range has three blocks of four steps
    assert thin["series"][0]["max"][0] == 100.0
    assert thin["series"][0]["min"][3] == 2.5


def test_metrics_that_are_not_there_are_no_error(service: Service) -> None:
    job = service.job()
    assert service.get(f"/v1/jobs/{job}/metrics?names=nothing").json() == {"names": [], "series": []}
    expect_problem(service.get(f"/v1/jobs/{job}/metrics?max_points=0"), 422)
    expect_problem(service.get("/v1/jobs/99/metrics"), 404)


@pytest.mark.parametrize("unwritten", [1, 2])
def test_without_a_configuration_a_diff_shows_the_decided_changes(service: Service, unwritten: int) -> None:
    job = service.job(state=State.RUNNING, attempts=2)
    with service.store.transaction() as session:
        row = session.get(Attempt, (job, unwritten))
        assert row is not None
        row.config = ""

    diff = service.get(f"/v1/jobs/{job}/attempts/2/diff").json()

    assert [(change["field"], change["lever"]) for change in diff["changes"]] == [("micro_batch", "micro_batch")]


OWN: dict[str, Any] = {"model": None, "image_size": None, "checkpoint": None}


def test_an_attempt_is_compared_with_what_was_submitted(service: Service) -> None:
    sent = zoo_like("efficientdet_d0")
    job = service.job(state=State.FAILED, attempts=3, **OWN, pipeline_config=pipeline_config.to_text(sent))
    diff = service.get(f"/v1/jobs/{job}/attempts/3/diff", params={"against": "submitted"}).json()
    assert (diff["attempt"], diff["against"]) == (3, "submitted")
    changes = {change["field"]: change for change in diff["changes"]}
    assert all(change["reason"] and change["group"] != "unexplained" for change in changes.values())
    run = pipeline_config.parse(service.get(f"/v1/jobs/{job}/attempts/3/config").text)
    listed = {field for field, change in changes.items() if change["group"] != "unused"}
    assert listed - {"micro_batch"} == {change.field for change in pipeline_config.compare(sent, run)}
    # The third attempt reports the changes decided before the second and the third.
    assert (changes["micro_batch"]["before"], changes["micro_batch"]["after"]) == ("8", "2")
    assert changes["train_config.use_bfloat16"]["lever"] == "precision"
    assert changes["train_config.num_steps"]["group"] == "request"


def test_a_job_without_a_config_of_its_own_is_compared_with_what_was_asked_for(service: Service) -> None:
    job = service.job(state=State.FAILED, attempts=1)
    diff = service.get(f"/v1/jobs/{job}/attempts/1/diff", params={"against": "submitted"}).json()
    assert {change["group"] for change in diff["changes"]} == {"dataset", "evaluation", "input"}
    assert service.get(f"/v1/jobs/{job}/attempts/1/diff", params={"against": "nothing"}).status_code == 422
