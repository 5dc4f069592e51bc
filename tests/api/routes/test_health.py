"""Health and readiness."""

import pytest

from services.store import migrate
from tests.support.api_service import Service, expect_problem


def test_the_service_is_alive_and_ready_without_a_token(service_on_each: Service) -> None:
    assert service_on_each.get("/healthz", by=None).json() == {"status": "ok"}
    # The broker does not run. The service is ready all the same.
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
