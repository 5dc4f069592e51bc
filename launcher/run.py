"""`python -m launcher run`: the whole service in the foreground, until Ctrl-C."""

import dataclasses
import http.client
import json
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable

from launcher import addresses, home_lock, private_redis, still_training
from launcher.children import Program
from launcher.console import Console
from launcher.manager import Manager
from services import setup
from services.settings import Settings
from services.store.engine import StoreUnavailable

__all__ = ["EXAMPLE_JOB", "GaveUp", "Programs", "run", "service_programs"]

EXAMPLE_JOB = {
    "dataset": setup.SAMPLE,
    "model": "efficientdet_d0",
    "image_size": [256, 256],
    "train": {"steps": 200, "batch_size": 8},
}
Programs = Callable[[Settings], list[Program]]
_READY_POLL_S = 0.25
_DEATHS_BEFORE_READY = 3
_SLOW_START_S = 60.0
_UNUSABLE = 2  # the exit status of programs that cannot use their settings


class GaveUp(Exception):
    """The service cannot be started; the message says why."""


def run(settings: Settings, console: Console, programs: Programs | None = None) -> None:
    """Returns when it was asked to stop and nothing but training is left.

    Raises SettingsError, home_lock.AlreadyRunning, private_redis.RedisError or GaveUp.
    """
    setup.make_home(settings.home)
    # The lock before the port: of a second start, "running already" is the better answer than "port in use".
    with home_lock.hold(settings.home) as lock:
        settings = dataclasses.replace(settings, bind=addresses.free_bind(settings.address))
        url = addresses.url(settings.address)
        lock.tell(url)
        token = setup.prepare(settings, console.say)
        with Manager(console) as manager:
            for program in (programs or service_programs)(settings):
                manager.start(program)
            if _wait_until_ready(manager, settings, url, console):
                console.write(welcome(settings, url, token))
            while not manager.stop_asked:
                manager.turn(wait_s=1.0)
                _need_settings(manager, "worker")
            console.say("stopping")
        console.say(farewell(settings))


def service_programs(settings: Settings) -> list[Program]:
    """In the order of their start."""
    environment = settings.to_environment()
    worker = Program("worker", [sys.executable, "-m", "worker"], environment, tidy=tidy, grace_s=15)
    # Every answer it has given is in the database: nothing is lost by an end without a goodbye.
    api = Program("api", [sys.executable, "-m", "api"], environment, tidy=tidy, dies_by=signal.SIGKILL, grace_s=5)
    if not settings.is_embedded_broker:
        return [worker, api]
    private_redis.end_former(settings)
    return [private_redis.program(settings), worker, api]


# What the launcher says itself, in one line, and what was not asked for by anybody but the launcher.
_CHATTER = re.compile(
    r"uvicorn\.error: (Started server|Waiting for|Application (startup|shutdown)|Uvicorn running|Shutting|Finished)"
    r"|alembic\.runtime\.migration: (Context impl|Will assume)"
    r"|GET /readyz 200"
    r"|^Task downshift\.dispatch\[[^]]*\] (received|succeeded)"
    r"|Warm shutdown"
)


def tidy(line: str) -> str | None:
    """A line of the api or the worker as the log shows it."""
    return line if line.strip() and not _CHATTER.search(line) else None


def _wait_until_ready(manager: Manager, settings: Settings, url: str, console: Console) -> bool:
    """False where it was asked to stop meanwhile. Raises GaveUp or SettingsError where it will not get ready."""
    started, told = time.monotonic(), False
    while not manager.stop_asked:
        problem = _readiness(settings)
        if problem is None:
            return True
        _need_settings(manager, "api")
        _need_settings(manager, "worker")
        deaths = manager.deaths("api")
        if deaths:
            addresses.free_bind(settings.address)  # somebody may have taken it between our look and the api's
        if deaths >= _DEATHS_BEFORE_READY:
            raise GaveUp(f"the api ended {deaths} times before it was ready; its last lines are above")
        if not told and time.monotonic() - started > _SLOW_START_S:
            console.say(f"still waiting for {url}/readyz: {problem}")
            told = True
        manager.turn(_READY_POLL_S)
    return False


def _need_settings(manager: Manager, name: str) -> None:
    """Raises GaveUp where a program says by its exit status that it will never start like this."""
    ended = manager.last_end(name)
    if ended and ended.status == _UNUSABLE:
        raise GaveUp(f"the {name} cannot start with these settings; its error is above")


def _readiness(settings: Settings) -> str | None:
    """What /readyz objects to; None when it is content."""
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
    """What somebody needs who has just started the service. Without prefixes: it is there to be pasted."""
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


def farewell(settings: Settings) -> str:
    try:
        jobs = still_training.going_on(settings)
    except StoreUnavailable as error:
        return f"stopped; could not check whether training still runs: {error}"
    return "\n".join(["stopped", *(f"training goes on: {job}; `make run` picks it up again" for job in jobs)])
