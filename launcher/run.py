"""`python -m launcher run`: run the whole service in the foreground until Ctrl-C."""

import dataclasses
import http.client
import json
import re
import shlex
import signal
import sys
import time

from launcher import addresses, home_lock, private_redis, still_training
from launcher.children import Program
from launcher.console import Console
from launcher.manager import Manager
from services import setup
from services.settings import Settings
from services.store.engine import StoreUnavailable

__all__ = ["StartFailed", "run"]

EXAMPLE_JOB = {
    "dataset": setup.SAMPLE,
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 200, "batch_size": 8},
}
_READY_POLL_S = 0.25
_DEATHS_BEFORE_READY = 3
_SLOW_START_S = 60.0
_BAD_SETTINGS = 2  # the exit status of a program that rejects its settings


class StartFailed(Exception):
    """The service cannot be started; the message says why."""


def run(settings: Settings, console: Console) -> None:
    """Run the service until a signal asks it to stop. Afterwards only training goes on.

    Raises SettingsError, home_lock.AlreadyRunning, private_redis.RedisError or StartFailed.
    """
    setup.make_home(settings.home)
    # The lock before the port: for a second start, "already running" is a better message than "port in use".
    with home_lock.hold(settings.home) as lock:
        settings = dataclasses.replace(settings, bind=addresses.free_bind(settings.address))
        url = addresses.url(settings.address)
        lock.publish(url)
        token = setup.prepare(settings, console.say)
        with Manager(console) as manager:
            for program in service_programs(settings):
                manager.start(program)
            if _wait_until_ready(manager, settings, url, console):
                console.write(welcome(settings, url, token))
            while not manager.stop_requested:
                manager.poll(wait_s=1.0)
                _raise_if_settings_rejected(manager, "worker")
            console.say("stopping")
        console.say(stopped_message(settings))


def service_programs(settings: Settings) -> list[Program]:
    """The programs of the service, in the order in which to start them."""
    environment = settings.to_environment()
    worker = Program("worker", [sys.executable, "-m", "worker"], environment, tidy=tidy, grace_s=15)
    # Whatever it has confirmed is in the database, so SIGKILL loses nothing.
    api = Program("api", [sys.executable, "-m", "api"], environment, tidy=tidy, dies_by=signal.SIGKILL, grace_s=5)
    if not settings.is_embedded_broker:
        return [worker, api]
    private_redis.stop_leftover(settings)
    return [private_redis.program(settings), worker, api]


# Lines that repeat what the launcher logs itself, and requests and messages that the service makes regularly.
_NOISE = re.compile(
    r"uvicorn\.error: (Started server|Waiting for|Application (startup|shutdown)|Uvicorn running|Shutting|Finished)"
    r"|alembic\.runtime\.migration: (Context impl|Will assume)"
    r"|GET /readyz 200"
    r"|^Task downshift\.dispatch\[[^]]*\] (received|succeeded)"
    r"|Warm shutdown"
)


def tidy(line: str) -> str | None:
    """A line of the api or the worker for the log; None drops it."""
    return line if line.strip() and not _NOISE.search(line) else None


def _wait_until_ready(manager: Manager, settings: Settings, url: str, console: Console) -> bool:
    """Returns False if a signal asks to stop first. Raises StartFailed or SettingsError if the api cannot start."""
    started, is_slow_reported = time.monotonic(), False
    while not manager.stop_requested:
        problem = _readiness(settings)
        if problem is None:
            return True
        _raise_if_settings_rejected(manager, "api")
        _raise_if_settings_rejected(manager, "worker")
        deaths = manager.deaths("api")
        if deaths:
            addresses.free_bind(settings.address)  # another program may have taken the port since we checked it
        if deaths >= _DEATHS_BEFORE_READY:
            raise StartFailed(f"the api ended {deaths} times before it was ready; its last lines are above")
        if not is_slow_reported and time.monotonic() - started > _SLOW_START_S:
            console.say(f"still waiting for {url}/readyz: {problem}")
            is_slow_reported = True
        manager.poll(_READY_POLL_S)
    return False


def _raise_if_settings_rejected(manager: Manager, name: str) -> None:
    """Raises StartFailed if the program exited because of its settings: a restart would not help."""
    ended = manager.last_end(name)
    if ended and ended.status == _BAD_SETTINGS:
        raise StartFailed(f"the {name} cannot start with these settings; its error is above")


def _readiness(settings: Settings) -> str | None:
    """What is missing according to /readyz; None if the service is ready."""
    host, port = addresses.reachable(settings.address)
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        body = answer.read(2000).decode("utf-8", "replace")
        return None if answer.status == 200 else f"{answer.status} {body}"
    except (OSError, http.client.HTTPException) as error:
        return str(error)
    finally:
        connection.close()


def welcome(settings: Settings, url: str, token: str | None) -> str:
    """How to use the service that was just started. Without log prefixes, so that the command can be pasted."""
    file = settings.admin_token_file
    lines = ["", f"  Downshift is ready at {url}", f"  data         {settings.home}"]
    dashboard = "  dashboard    the same address in a browser"
    submit = [f"curl -sS {url}/v1/jobs", "-H 'Content-Type: application/json'", f"-d '{json.dumps(EXAMPLE_JOB)}'"]
    if settings.authentication:
        lines.append(f"  admin token  {file}" + (f", shown only this once: {token}" if token else ""))
        submit.insert(1, f'-H "Authorization: Bearer $(cat {shlex.quote(str(file))})"')
        dashboard += "; log in with the token"
    lines.append(dashboard)
    lines += ["", "  Submit a job:", "", "    " + " \\\n      ".join(submit), ""]
    lines += ["  Ctrl-C stops the service; training goes on.", "", ""]
    return "\n".join(lines)


def stopped_message(settings: Settings) -> str:
    try:
        jobs = still_training.describe_jobs(settings)
    except StoreUnavailable as error:
        return f"stopped; could not check whether training still runs: {error}"
    return "\n".join(["stopped", *(f"training goes on: {job}; `make run` picks it up again" for job in jobs)])
