"""A worker is well while its devices are reported."""

import datetime
from pathlib import Path

import pytest

from services.settings import Settings
from services.store import migrate
from services.store.engine import Store
from services.store.models import Device
from worker.health import complaint

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


def test_it_is_well_when_its_devices_were_reported_just_now(settings: Settings) -> None:
    report(settings, "box", seconds_ago=4)
    assert complaint(settings, NOW) is None


def test_it_is_not_well_when_the_report_is_old_however_fresh_that_of_another_host(settings: Settings) -> None:
    report(settings, "box", seconds_ago=95)
    report(settings, "other", seconds_ago=1)
    assert "95 s ago" in str(complaint(settings, NOW))


def test_it_is_not_well_when_it_never_reported_a_device(settings: Settings) -> None:
    report(settings, "other", seconds_ago=1)
    assert "box has reported no device" in str(complaint(settings, NOW))
