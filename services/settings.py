"""The settings, read from the environment, typed and checked. No other module reads environment variables for them."""

import dataclasses
import hashlib
import ipaddress
import math
import os
import shlex
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

__all__ = ["Settings", "SettingsError"]

PREFIX = "DOWNSHIFT_"
_LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
_BROKERS = ("redis://", "rediss://", "redis+socket://")
_LONGEST_HOST = 64  # characters; the limit of the database's column and of the kernel
_ABOVE_0 = (
    "poll_s",
    "heartbeat_s",
    "lease_s",
    "hang_s",
    "qualify_s",
    "max_body_kb",
    "max_upload_mb",
    "max_connections",
    "max_connections_per_address",
    "request_head_s",
    "stall_s",
    "upload_check_mb",
    "upload_check_s",
    "max_steps",
)
_LONGEST_SOCKET_PATH = 100  # the kernel's limit is 107 bytes


class SettingsError(ValueError):
    """A variable has an unusable value. The message names the variable and says what is valid."""

    code = "bad_settings"


@dataclass(frozen=True)
class Settings:
    """Each field is the variable DOWNSHIFT_<FIELD>."""

    home: Path = Path("var")
    database_url: str = ""  # empty: SQLite under home
    broker_url: str = ""  # empty: a private Redis on a unix socket under home
    devices: str = "auto"
    bind: str = "127.0.0.1:8080"
    authentication: bool = True
    host: str = ""  # this machine's name, the first part of its devices' names; empty: the host name

    poll_s: float = 3.0  # how often the worker reads the database without a wake-up message
    heartbeat_s: float = 2.0
    lease_s: float = 30.0  # after this long without a heartbeat, the reaper checks the supervisor
    stop_grace_s: float = 8.0  # from SIGTERM to SIGKILL when a job is cancelled
    pause_grace_s: float = 120.0  # the same for a job that is paused, which saves first
    unkillable_s: float = 20.0  # a trainer that lives this long after SIGKILL is left behind; its device stays locked
    hang_s: float = 900.0  # a hang: silent for this long, and ten times longer than ever before
    qualify_s: float = 300.0  # time limit of a GPU's check; a card may have to compile kernels first
    min_free_disk_mb: int = 1024  # with less, no training starts on this host

    max_body_kb: int = 1024
    max_upload_mb: int = 4096
    upload_check_mb: int = 1024  # memory for the process that checks one archive
    upload_check_s: float = 1800.0  # time limit of that process
    max_steps: int = 10_000_000
    max_jobs_per_user: int = 500  # queued, running or paused
    max_streams: int = 1000  # open event streams; one user may have a quarter of them
    max_connections: int = 1000  # in addition to event streams
    max_connections_per_address: int = 200  # except trusted proxies
    request_head_s: float = 20.0  # from a connection, or the last response, to a complete request head
    stall_s: float = 30.0  # a connection that sends or reads less than 1 KB in this time is closed
    webhook_private: bool = False  # allow webhooks to private and loopback addresses
    max_queued: int | None = None  # this and the next two: default limits of a user; None: no limit
    max_running: int | None = None
    device_hours_week: float | None = None  # today and the six days before
    rate_limit: int = 600  # requests per minute and user; 0: no limit
    private_jobs: bool = False  # only the owner and admins see a job
    secure_cookies: bool = False  # also for plain http requests, where a proxy handles TLS
    trusted_proxies: str = ""  # addresses and networks, separated by commas, whose forwarded client address is believed
    trainer: str = ""  # the command that trains an attempt directory; empty: our own trainer
    qualifier: str = ""  # the command that checks a GPU and writes its findings to a file; empty: our own
    log_level: str = "info"
    log_json: bool = False  # the api logs one JSON object per line

    def __post_init__(self) -> None:
        home = Path(self.home).absolute()
        object.__setattr__(self, "home", home)
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{home}/downshift.db")
        if not self.host:
            object.__setattr__(self, "host", socket.gethostname())
        self._check()

    def _check(self) -> None:
        if not self.host or "/" in self.host or len(self.host) > _LONGEST_HOST:
            raise SettingsError(f"{PREFIX}HOST: a plain name of at most {_LONGEST_HOST} characters, got {self.host!r}")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            is_number = field.type in (int, float, int | None, float | None) and value is not None
            if is_number and not (math.isfinite(value) and value >= 0):
                raise SettingsError(f"{PREFIX}{field.name.upper()}: a number from 0 up, got {value}")
        for name in _ABOVE_0:
            if not getattr(self, name) > 0:
                raise SettingsError(f"{PREFIX}{name.upper()}: must be above 0, got {getattr(self, name)}")
        if self.lease_s < 3 * self.heartbeat_s:
            raise SettingsError(f"{PREFIX}LEASE_S: at least three heartbeats ({3 * self.heartbeat_s} s)")
        if self.log_level.lower() not in _LOG_LEVELS:
            raise SettingsError(f"{PREFIX}LOG_LEVEL: one of {', '.join(_LOG_LEVELS)}, got {self.log_level!r}")
        if self.broker_url and not self.broker_url.startswith(_BROKERS):
            # Celery would take a bare name for a RabbitMQ host. The value may contain a password: do not quote it.
            raise SettingsError(f"{PREFIX}BROKER_URL: must begin with {', '.join(_BROKERS[:-1])} or {_BROKERS[-1]}")
        for proxy in self.proxies:
            _check_network(proxy)
        for name in ("trainer", "qualifier"):
            try:
                shlex.split(getattr(self, name))
            except ValueError as error:
                said = f"a command, got {getattr(self, name)!r} ({error})"
                raise SettingsError(f"{PREFIX}{name.upper()}: {said}") from None
        if not self.is_loopback and not self.authentication:
            raise SettingsError(
                f"{PREFIX}BIND: {self.bind} can be reached from other machines, and {PREFIX}AUTHENTICATION is off: "
                f"turn it on, or bind to 127.0.0.1"
            )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Raises SettingsError for an unreadable value and for an unknown DOWNSHIFT_ variable."""
        environ = os.environ if environ is None else environ
        fields = {PREFIX + field.name.upper(): field for field in dataclasses.fields(cls)}
        given = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
        unknown = sorted(given.keys() - fields.keys())
        if unknown:
            raise SettingsError(f"{unknown[0]}: no such setting; there are {', '.join(fields)}")
        return cls(
            **{fields[name].name: _read(name, fields[name].type, value) for name, value in given.items() if value != ""}
        )

    def to_environment(self) -> dict[str, str]:
        """The variables that give a child process the same settings."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {PREFIX + name.upper(): _write(value) for name, value in values.items()}

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bind.rpartition(":")
        try:
            if not host or not 0 <= int(port) <= 65535:
                raise ValueError
        except ValueError:
            raise SettingsError(
                f"{PREFIX}BIND: an address and a port such as 127.0.0.1:8080, got {self.bind!r}"
            ) from None
        return host.strip("[]"), int(port)

    @property
    def proxies(self) -> list[str]:
        return [part.strip() for part in self.trusted_proxies.split(",") if part.strip()]

    @property
    def is_loopback(self) -> bool:
        host = self.address[0]
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:  # a host name, which may resolve to any address
            return False

    @property
    def is_embedded_broker(self) -> bool:
        return not self.broker_url

    @property
    def redis_socket(self) -> Path:
        """The private Redis's socket; in the temporary folder where the path below home is too long for a socket."""
        in_home = self.home / "redis.sock"
        if len(os.fsencode(in_home)) <= _LONGEST_SOCKET_PATH:
            return in_home
        name = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return Path(tempfile.gettempdir(), f"downshift-{os.getuid()}-{name}.sock")

    @property
    def broker(self) -> str:
        return self.broker_url or f"redis+socket://{self.redis_socket}"

    @property
    def jobs_dir(self) -> Path:
        return self.home / "jobs"

    @property
    def datasets_dir(self) -> Path:
        return self.home / "datasets"

    @property
    def checkpoints_dir(self) -> Path:
        return self.home / "checkpoints"

    @property
    def locks_dir(self) -> Path:
        return self.home / "locks"

    @property
    def admin_token_file(self) -> Path:
        return self.home / "admin-token"

    @property
    def trainer_command(self) -> list[str]:
        return shlex.split(self.trainer) or [sys.executable, "-m", "worker.trainer"]

    @property
    def qualifier_command(self) -> list[str]:
        return shlex.split(self.qualifier) or [sys.executable, "-m", "worker.trainer.gpu.qualify"]


def _check_network(text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise SettingsError(
            f"{PREFIX}TRUSTED_PROXIES: addresses or networks such as 127.0.0.1,10.1.0.0/16, got {text!r} ({error})"
        ) from None


_WORDS = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}


def _boolean(text: str) -> bool:
    return _WORDS[text.strip().lower()]


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    Path: (Path, "a path"),
    str: (str, "a text"),
    bool: (_boolean, "on or off"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    int | None: (int, "a whole number"),
    float | None: (float, "a number"),
}


def _read(name: str, kind: Any, text: str) -> Any:
    reader, wanted = _READERS[kind]
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise SettingsError(f"{name}: must be {wanted}, got {text!r}") from None


def _write(value: Any) -> str:
    if value is None:  # an empty variable counts as not set
        return ""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
