"""Health and readiness."""

import pytest

from services.devices import reports
from services.store import migrate
from tests.support.api_service import Service, expect_problem
from tests.support.desk import GB, gpu


def test_the_service_is_alive_and_ready_without_a_token(service_on_each: Service) -> None:
    assert service_on_each.get("/healthz", by=None).json() == {"status": "ok"}
    # The broker does not run, and there is no device. The service is ready all the same.
    none = {"present": 0, "with_problem": 0, "problems": []}
    assert service_on_each.get("/readyz", by=None).json() == {"status": "ready", "broker": "away", "devices": none}


def test_readiness_says_what_is_wrong_with_devices_and_names_none(service: Service) -> None:
    silent = "the NVIDIA driver does not answer since 07:00 UTC"
    reports.report(
        service.store,
        "box",
        [gpu(0, 8 * GB, 0, problem=silent), gpu(1, 8 * GB, 0, problem=silent), gpu(2, 8 * GB, 8 * GB)],
    )
    answer = service.get("/readyz", by=None)
    assert answer.status_code == 200
    assert answer.json()["devices"] == {"present": 3, "with_problem": 2, "problems": [silent]}


def test_it_is_not_ready_with_old_tables_or_without_a_database(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.downgrade(service.store.engine)
    expect_problem(service.get("/readyz", by=None), 503, "not_ready")
    (service.settings.home / "downshift.db").unlink()
    service.store.close()
    service.settings.home.rename(service.settings.home.with_name("gone"))
    expect_problem(service.get("/readyz", by=None), 503, "database_away")
