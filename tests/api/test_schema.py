"""The service against its OpenAPI document: schemathesis sends valid and invalid requests and checks the answers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.specs.openapi.checks import positive_data_acceptance

from api.app import create_app
from api.routes import events
from api.schemas.base import LARGEST_ID
from services.domain import catalogue
from services.domain.jobs.states import State
from services.settings import Settings
from services.store.engine import Store
from services.users.principal import Scope
from tests.api.conftest import service_on_sqlite
from tests.support.api_service import People, Service

_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_EXAMPLES = 12  # per operation, besides those at the limits of each field


@pytest.fixture(scope="module")
def busy_service(
    tmp_path_factory: pytest.TempPathFactory, populated_sqlite: tuple[Path, People], sample: Path
) -> Iterator[Service]:
    """Jobs in every state, with attempts, series and files, so that requests do not all end in 404."""
    home = tmp_path_factory.mktemp("busy") / "home"
    with (
        service_on_sqlite(home, populated_sqlite, sample, max_jobs_per_user=10_000) as service,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(events, "MAX_STREAM_S", 0.0)  # streams end after the past events
        for number, state in enumerate(State):
            service.job("admin", state, attempts=number % 3, name=f"job {state}")
        service.device(leased_to=2)
        # Requests revoke tokens, above all token 1: use another one.
        service.tokens["admin"] = [service.token("admin", [Scope.ADMIN]) for _ in range(40)][-1]
        patch.setattr(door, "app", service.app)
        yield service


class Door:
    """The schema is read when tests are collected; the service is set when they run."""

    def __init__(self) -> None:
        self.app: Any = create_app(Settings(), Store.open("sqlite://"))

    async def __call__(self, *call: Any) -> None:
        await self.app(*call)


door = Door()
schema = schemathesis.openapi.from_dict(
    door.app.openapi(),
    config=SchemathesisConfig(
        projects=ProjectsConfig(
            default=ProjectConfig(
                generation=GenerationConfig(deterministic=True, max_examples=_EXAMPLES, with_security_parameters=False)
            )
        )
    ),
)
schema.app = door


@schema.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    """Replace valid numbers by numbers of existing jobs and attempts."""
    for name, count in (("job_id", len(State)), ("number", 2)):
        value = (path_parameters or {}).get(name)
        if type(value) is int and 1 <= value <= LARGEST_ID and path_parameters:
            path_parameters[name] = 1 + value % count
    return path_parameters


@schema.hook
def filter_query(context: Any, query: dict[str, Any] | None) -> bool:
    """Leave out what is invalid only before it is sent: in a query a number is text, so it is a valid name of a metric,
    and null is no parameter at all."""
    values = dict(query or {})
    names = values.get("names") or []
    texts = names if isinstance(names, list) else [names]
    return None not in values.values() and all(isinstance(one, str) for one in texts)


@schema.hook
def map_body(context: Any, body: Any) -> Any:
    """Replace valid names by existing ones, so that requests get past the check of names."""
    if isinstance(body, dict) and "scopes" not in body:
        for name, known in (("dataset", ["shapes"]), ("model", sorted(catalogue.MODELS))):
            value = body.get(name)
            if isinstance(value, str) and _NAME.fullmatch(value):
                body[name] = known[len(value) % len(known)]
    return body


# A valid body can still be refused here, because it names something that does not exist.
_JUDGE_MORE_THAN_FORM = {
    "GET /v1/jobs",
    "POST /v1/jobs",
    "POST /v1/estimate",
    "PATCH /v1/jobs/{job_id}",
    "POST /v1/jobs/{job_id}/clone",
    "POST /v1/tokens",
    "POST /v1/session",
    "POST /v1/users",
    "PATCH /v1/users/{name}",
    "PUT /v1/users/me/password",
    "GET /v1/audit",
    "POST /v1/webhooks",
    "PATCH /v1/webhooks/{webhook_id}",
    "DELETE /v1/webhooks/{webhook_id}",
    "GET /v1/datasets/{name}/samples",
    "POST /v1/datasets",
    "POST /v1/checkpoints",
}


@schema.parametrize()
@settings(
    max_examples=_EXAMPLES,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_service_does_what_its_openapi_says(case: Any, busy_service: Service) -> None:
    judged = case.operation.label in _JUDGE_MORE_THAN_FORM
    answer = case.call_and_validate(
        headers={"Authorization": f"Bearer {busy_service.tokens['admin']}"},
        excluded_checks=[positive_data_acceptance] if judged else [],
    )
    if answer.status_code == 401:
        assert busy_service.get("/v1/whoami", by="admin").status_code == 200, "a request revoked this test's token"
