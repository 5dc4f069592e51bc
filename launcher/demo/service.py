"""The service that the demo uses: `python -m launcher run` as a child process, and requests to its api."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from launcher import addresses
from launcher.children import dying_with_us
from services.settings import Settings

__all__ = ["LOG_FILE", "Api", "DemoFailed", "serving"]

LOG_FILE = "service.log"
_READY_S = 120.0
_STOP_S = 60.0  # the launcher itself kills its children after 30 s
_RETRY_S = 20.0  # the api may be restarting


class DemoFailed(Exception):
    """The demo failed; the message says why."""


@contextmanager
def serving(settings: Settings) -> Iterator["Api"]:
    """Run the service inside the block. Its log is in HOME. Raises DemoFailed if it does not start."""
    log = settings.home / LOG_FILE
    with log.open("wb") as output:
        process = subprocess.Popen(
            dying_with_us([sys.executable, "-m", "launcher", "run"], signal.SIGTERM),
            env=os.environ | settings.to_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C must not reach it: the demo cancels the job first
        )
    try:
        _wait_until_ready(process, settings, log)
        token = settings.admin_token_file.read_text().strip()
        with httpx.Client(
            base_url=addresses.url(settings.address), headers={"Authorization": f"Bearer {token}"}, timeout=10
        ) as client:
            yield Api(client)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: "subprocess.Popen[bytes]", settings: Settings, log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            if httpx.get(f"{addresses.url(settings.address)}/readyz", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if process.poll() is not None:
            raise DemoFailed(f"the service did not start:\n{_tail(log)}")
        if time.monotonic() >= deadline:
            raise DemoFailed(f"the service was not ready after {_READY_S:g} s:\n{_tail(log)}")
        time.sleep(0.1)


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


class Api:
    """Sends requests, and repeats them while the api is restarting. Raises DemoFailed for an error answer."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    @property
    def url(self) -> str:
        return str(self._client.base_url).rstrip("/")

    def get(self, path: str) -> Any:
        return self.request("GET", path).json()

    def text(self, path: str) -> str:
        return self.request("GET", path).text

    def post(self, path: str, body: Mapping[str, Any] | None = None, key: str | None = None) -> Any:
        """`key` is the Idempotency-Key: with it, a repeated request does nothing twice."""
        return self.request("POST", path, json=body, headers={"Idempotency-Key": key} if key else {}).json()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        deadline = time.monotonic() + _RETRY_S
        while True:
            try:
                answer = self._client.request(method, path, **options)
                if answer.status_code != 503:
                    break
                problem = answer.text
            except httpx.TransportError as error:
                problem = str(error)
            if time.monotonic() >= deadline:
                raise DemoFailed(f"{method} {path}: {problem}")
            time.sleep(0.5)
        if answer.is_error:
            raise DemoFailed(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer
