"""Validation errors are sentences for people, not pydantic's messages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from pydantic import TypeAdapter, ValidationError

from api.http import problems
from api.http.field_errors import _model, faults_of
from api.schemas import patterns
from api.schemas.jobs import SubmitBody
from api.schemas.users.users import UserBody
from api.schemas.webhooks import WebhookBody
from tests.support.api_service import Service, expect_problem

JOB = {"dataset": "shapes", "model": "efficientdet_d0"}


def faults(kind: Any, body: Any, epoch: Callable[[], str] = str) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    return {fault.field: fault.message for fault in faults_of(errors, kind, epoch)}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"epochs": 3}, {"epochs": "no such field; a job's length is train.steps or train.epochs (one epoch is 51)"}),
        ({"steps": 3}, {"steps": "no such field; a job's length is train.steps or train.epochs (one epoch is 51)"}),
        ({"train": {"stepz": 3}}, {"train.stepz": "no such field; did you mean train.steps?"}),
        ({"lr": 3}, {"lr": "no such field here; did you mean train.learning_rate?"}),
        ({"min_batch_size": 3}, {"min_batch_size": "no such field here; did you mean policy.min_batch_size?"}),
        ({"chekpoint": "x"}, {"chekpoint": "no such field; did you mean checkpoint?"}),
        ({"device": {"xyz": 1}}, {"device.xyz": "no such field; device can have min_memory_mb, wait"}),
        ({"train": {"steps": "5"}}, {"train.steps": "must be a whole number"}),
        ({"train": {"steps": 0}}, {"train.steps": "must be at least 1"}),
        ({"train": {"steps": 5, "epochs": 2}}, {"train": "send steps or epochs, not both"}),
        ({"train": {"epochs": 0}}, {"train.epochs": "must be above 0"}),
        ({"train": {"learning_rate": float("nan")}}, {"train.learning_rate": "must be a number, not NaN or infinity"}),
        ({"train": []}, {"train": 'must be an object: {"field": value, …}'}),
        ({"name": ""}, {"name": "must not be empty"}),
        ({"name": "a\nb"}, {"name": "must be one line without control characters"}),
        ({"name": "a" * 129}, {"name": "must have at most 128 characters"}),
        ({"image_size": [512]}, {"image_size": "must have at least 2 items"}),
        ({"policy": {"prefer": "x"}}, {"policy.prefer": "must be one of shrink, wait"}),
        ({"policy": {"plan_ahead": 1}}, {"policy.plan_ahead": "must be true or false"}),
        ({"a" * 100_000: 1}, None),
        ({"body": 1}, None),
        ({"train": {"body": 1}}, {"train.body": "no such field; train can have steps, epochs, batch_size, "
                                  "learning_rate, evaluations, best_metric, early_stopping, export"}),
        ({"train": {"best_metric": "map"}}, {"train.best_metric": "must be one of mAP, mAP50, mAP75, AR100, mask_mAP, "
                                             "mask_mAP50, mask_mAP75, mask_AR100"}),
        ({"train": {"early_stopping": {"patience": 0}}}, {"train.early_stopping.patience": "must be at least 1"}),
        ({"patience": 3}, {"patience": "no such field here; did you mean train.early_stopping.patience?"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_job_is_said_in_words(more: dict[str, Any], expected: dict[str, str] | None) -> None:
    found = faults(SubmitBody, {**JOB, **more}, lambda: " (one epoch is 51)")
    if expected is not None:
        assert found == expected
    assert not any(re.search(r"[Ii]nput|[Ss]tring should|\^", message) for message in found.values())


def test_a_body_full_of_faults_is_answered_with_the_first_of_them() -> None:
    found = faults(SubmitBody, {**JOB, **{f"field{number}" + "x" * 1000: 1 for number in range(5000)}})
    assert len(found) == 21
    assert found["body"] == "has 4,980 more faults"
    assert all(len(field) <= 64 for field in found)


def test_a_pattern_is_explained_and_not_printed() -> None:
    found = faults(SubmitBody, {"dataset": "my data", "model": "x"})
    assert found == {"dataset": patterns.EXPLAINED[patterns.NAME]}
    assert "http" in faults(WebhookBody, {"url": "ftp://there"})["url"]
    assert "lower-case letters" in faults(UserBody, {"name": "Ann A"})["name"]


def test_every_pattern_of_the_api_is_explained(service: Service) -> None:
    schema = service.app.openapi()
    found = set(_patterns(schema))
    assert found
    assert found <= patterns.EXPLAINED.keys()


def _patterns(schema: Any) -> Any:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        schema = schema.values()
    elif not isinstance(schema, list):
        return
    for inner in schema:
        yield from _patterns(inner)


def test_every_constraint_of_the_api_has_a_sentence(service: Service) -> None:
    """Pydantic's own messages are never shown, whatever value is sent for a field."""
    app = service.app
    fields = [getattr(route, "body_field", None) for route in iter_route_contexts(app.routes)]
    bodies = {field.field_info.annotation for field in fields if field}
    assert SubmitBody in bodies
    for body in bodies:
        for odd in ("", "\x00", "a" * 300_000, -1, 2**70, 1.5, float("inf"), True, None, [], [1] * 100, {}, {"q": 1}):
            for name in (_model(body) or SubmitBody).model_fields:
                try:
                    TypeAdapter(body).validate_python({name: odd})
                except ValidationError as error:
                    for message in (fault.message for fault in faults_of(error.errors(), body, lambda: "")):
                        assert not re.search(r"[Ii]nput|[Ss]tring should|[Ff]ield required|\^", message), (name, odd)


def test_an_unknown_length_names_the_epoch_of_the_dataset(service: Service) -> None:
    body = {"dataset": "shapes", "model": "efficientdet_d0", "train": {"batch_size": 2}, "epochs": 3}
    problem = expect_problem(service.post("/v1/jobs", json=body), 422, "invalid")
    assert problem["detail"] == (
        "epochs: no such field; a job's length is train.steps or train.epochs (one epoch of shapes is 2 steps)"
    )
    odd = expect_problem(service.post("/v1/jobs", json={**body, "dataset": ["x"], "train": 5}), 422, "invalid")
    assert "one epoch" not in odd["detail"]


def test_a_dataset_is_looked_at_only_for_a_length(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(problems, "steps_per_epoch", lambda *arguments: asked.append(arguments))
    body = {"dataset": "shapes", "model": "efficientdet_d0", "x": 1, "body": 2}
    expect_problem(service.ask("POST", "/v1/session", by=None, json=body), 422, "invalid")
    expect_problem(service.post("/v1/jobs", json=body), 422, "invalid")
    assert asked == []
    expect_problem(service.post("/v1/jobs", json={**body, "epochs": 3}), 422, "invalid")
    assert len(asked) == 1
