"""A worker is healthy while it reports its devices."""

import datetime
from pathlib import Path

import pytest

from services.settings import Settings
from services.store import migrate
from services.store.engine import Store
from services.store.models import Device
from worker.health import problem

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(home=tmp_path, host="box")
    store = Store.open(made.database_url)
    migrate.upgrade(store.engine)
    store.close()
    return made


def report(settings: Settings, host: str, seconds_ago: float) -> None:
    store = Store.open(settings.database_url)
    with store.transaction() as session:
        session.add(
            Device(
                id=f"{host}/cpu0",
                host=host,
                key="cpu0",
                kind="cpu",
                index=0,
                name="CPU slot",
                total_bytes=1,
                free_bytes=1,
                bfloat16=False,
                processes=[],
                seen_at=NOW - datetime.timedelta(seconds=seconds_ago),
            )
        )
    store.close()


def test_a_worker_with_a_recent_report_is_healthy(settings: Settings) -> None:
    report(settings, "box", seconds_ago=4)
    assert problem(settings, NOW) is None


def test_a_worker_with_an_old_report_is_not_healthy_even_if_another_host_has_a_recent_one(settings: Settings) -> None:
    report(settings, "box", seconds_ago=95)
    report(settings, "other", seconds_ago=1)
    assert "95 s ago" in str(problem(settings, NOW))


def test_a_worker_that_never_reported_a_device_is_not_healthy(settings: Settings) -> None:
    report(settings, "other", seconds_ago=1)
    assert "box has reported no device" in str(problem(settings, NOW))
