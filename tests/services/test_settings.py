"""Settings from variables, and the values that are refused."""

import dataclasses
import os
import socket
from pathlib import Path

import pytest

from services.settings import PREFIX, Settings, SettingsError

GIVEN = {
    "HOME": "/srv/downshift",
    "DATABASE_URL": "postgresql://db/downshift",
    "BROKER_URL": "redis://broker:6379/1",
    "DEVICES": "cpu:2048,cpu:4096",
    "BIND": "127.0.0.1:9000",
    "AUTHENTICATION": "off",
    "HOST": "box-7",
    "POLL_S": "1.5",
    "HEARTBEAT_S": "0.5",
    "LEASE_S": "12",
    "STOP_GRACE_S": "4",
    "PAUSE_GRACE_S": "60",
    "UNKILLABLE_S": "6",
    "HANG_S": "100",
    "QUALIFY_S": "50",
    "MIN_FREE_DISK_MB": "7",
    "MAX_BODY_KB": "8",
    "MAX_UPLOAD_MB": "9",
    "UPLOAD_CHECK_MB": "300",
    "UPLOAD_CHECK_S": "45",
    "MAX_STEPS": "10",
    "MAX_JOBS_PER_USER": "11",
    "MAX_STREAMS": "12",
    "MAX_CONNECTIONS": "13",
    "MAX_CONNECTIONS_PER_ADDRESS": "14",
    "REQUEST_HEAD_S": "15",
    "STALL_S": "16",
    "WEBHOOK_PRIVATE": "on",
    "MAX_QUEUED": "12",
    "MAX_RUNNING": "0",
    "DEVICE_HOURS_WEEK": "2.5",
    "RATE_LIMIT": "60",
    "PRIVATE_JOBS": "on",
    "SECURE_COOKIES": "on",
    "TRUSTED_PROXIES": "127.0.0.1, 10.1.0.0/16,::1",
    "TRAINER": "python 'a trainer.py'",
    "QUALIFIER": "python 'a check.py'",
    "LOG_LEVEL": "debug",
    "LOG_JSON": "on",
}


def read(**variables: str) -> Settings:
    return Settings.from_environment({PREFIX + name: value for name, value in variables.items()})


def test_every_field_has_a_variable_and_takes_its_value() -> None:
    assert {field.name.upper() for field in dataclasses.fields(Settings)} == set(GIVEN)
    settings = read(**GIVEN)
    assert settings.home == Path("/srv/downshift")
    assert settings.authentication is False
    assert settings.private_jobs is settings.secure_cookies is True
    assert (settings.poll_s, settings.lease_s, settings.max_jobs_per_user) == (1.5, 12.0, 11)
    assert settings.trainer_command == ["python", "a trainer.py"]
    for name, value in GIVEN.items():
        if name not in ("HOME", "AUTHENTICATION", "PRIVATE_JOBS", "SECURE_COOKIES"):
            kept = getattr(settings, name.lower())
            assert kept == type(kept)(value), name


@pytest.mark.parametrize("settings", [Settings(), read(**GIVEN), read(HOME="/tmp/ä b", TRAINER="")], ids=range(3))
def test_a_child_process_gets_the_same_settings(settings: Settings) -> None:
    assert Settings.from_environment(settings.to_environment()) == settings


def test_a_missing_or_empty_variable_has_its_default() -> None:
    home = Path.cwd() / "var"
    for settings in (read(), read(HOME="", DATABASE_URL="", BROKER_URL="", HOST="", BIND="")):
        assert settings.home == home
        assert settings.database_url == f"sqlite:///{home}/downshift.db"
        assert settings.broker == f"redis+socket://{home}/redis.sock"
        assert settings.is_embedded_broker
        assert settings.address == ("127.0.0.1", 8080)
        assert settings.host == socket.gethostname()
        assert settings.authentication


def test_variables_without_the_prefix_are_ignored() -> None:
    assert Settings.from_environment({"PATH": "/bin", "DOWNSHIFTER": "x"}) == Settings()


def test_an_unknown_variable_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        SettingsError, match=r"DOWNSHIFT_DATABSE_URL: no such setting; there are .*DOWNSHIFT_DATABASE_URL"
    ):
        read(DATABSE_URL="sqlite:///x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("POLL_S", "soon"),
        ("POLL_S", "0"),
        ("POLL_S", "-1"),
        ("POLL_S", "nan"),
        ("POLL_S", "inf"),
        ("HEARTBEAT_S", "0"),
        ("LEASE_S", "5"),  # less than three heartbeats
        ("STOP_GRACE_S", "nan"),  # would never end
        ("STOP_GRACE_S", "-1"),
        ("PAUSE_GRACE_S", "inf"),
        ("HANG_S", "0"),
        ("QUALIFY_S", "0"),
        ("MIN_FREE_DISK_MB", "-5"),
        ("MIN_FREE_DISK_MB", "1.5"),
        ("MAX_BODY_KB", "0"),
        ("MAX_UPLOAD_MB", "many"),
        ("MAX_STEPS", "0"),
        ("MAX_JOBS_PER_USER", "-1"),
        ("MAX_QUEUED", "-1"),
        ("MAX_RUNNING", "some"),
        ("DEVICE_HOURS_WEEK", "nan"),
        ("RATE_LIMIT", "-1"),
        ("PRIVATE_JOBS", "maybe"),
        ("AUTHENTICATION", "maybe"),
        ("TRUSTED_PROXIES", "*"),
        ("TRUSTED_PROXIES", "127.0.0.1,proxy"),
        ("TRUSTED_PROXIES", "10.1.0.1/16"),
        ("HOST", "a/b"),
        ("HOST", "h" * 65),
        ("BIND", "8080"),
        ("BIND", "127.0.0.1"),
        ("BIND", "127.0.0.1:http"),
        ("BIND", "127.0.0.1:70000"),
        ("BIND", ":8080"),
        ("LOG_LEVEL", "loud"),
        ("BROKER_URL", "localhost"),
        ("BROKER_URL", "amqp://broker"),
        ("TRAINER", "python 'unfinished"),
        ("QUALIFIER", "python 'unfinished"),
    ],
)
def test_an_unusable_value_is_refused_with_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{PREFIX}{name}: ") as refused:
        read(**{name: value})
    assert refused.value.code == "bad_settings"


@pytest.mark.parametrize(("text", "value"), [("on", True), ("TRUE", True), ("1", True), ("No", False), ("0", False)])
def test_on_and_off_accept_the_usual_spellings(text: str, value: bool) -> None:
    assert read(AUTHENTICATION=text).authentication is value


BEYOND = ["0.0.0.0:80", "192.168.1.5:80", "[::]:80", "box.example:80", "127.0.0.1.example.com:80", "127.example:80"]


@pytest.mark.parametrize("bind", BEYOND)
def test_an_address_beyond_this_machine_needs_authentication(bind: str) -> None:
    assert read(BIND=bind).address[1] == 80
    with pytest.raises(SettingsError, match=r"DOWNSHIFT_BIND: .* can be reached from other machines"):
        read(BIND=bind, AUTHENTICATION="off")


@pytest.mark.parametrize("bind", ["127.0.0.1:80", "127.9.9.9:80", "localhost:80", "[::1]:80"])
def test_on_a_loopback_address_authentication_may_be_off(bind: str) -> None:
    assert read(BIND=bind, AUTHENTICATION="off").is_loopback


def test_a_home_with_a_long_path_gets_its_own_socket_in_the_temporary_folder() -> None:
    long = "/" + "x" * 120
    near, far, other = read(HOME="/srv/d"), read(HOME=long), read(HOME=long + "y")
    assert near.redis_socket == Path("/srv/d/redis.sock")
    for settings in (near, far, other):
        assert len(os.fsencode(settings.redis_socket)) <= 107
    assert far.redis_socket != other.redis_socket
    assert far.redis_socket == read(HOME=long).redis_socket
    assert far.broker == f"redis+socket://{far.redis_socket}"


def test_a_relative_home_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = read(HOME="data")
    monkeypatch.chdir("/")
    assert settings.home == tmp_path / "data"
    assert Settings.from_environment(settings.to_environment()).home == tmp_path / "data"
