"""`python -m launcher run` with small fakes of api and worker, so that tests of the launcher take a second.

python -m tests.support.fake_service [listen | die | steal]      the behaviour of the fake api
"""

import http.server
import os
import signal
import socket
import sys
from pathlib import Path

from launcher import cli, run
from launcher.children import Program
from services.settings import Settings


class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        print(format % arguments, flush=True)


def fake_api(behaviour: str) -> None:
    address = Settings.from_environment().address
    if behaviour == "refuse-api":
        print("DOWNSHIFT_X: not like this")
        sys.exit(2)
    if behaviour == "die":
        sys.exit("no such module")
    if behaviour == "steal":  # another process takes the port and keeps running
        _steal(address)
        sys.exit(1)
    with http.server.HTTPServer(address, Ready) as server:
        server.serve_forever()


def _steal(address: tuple[str, int]) -> None:
    if os.fork() == 0:
        os.setsid()
        signal.alarm(30)
        with socket.create_server(address):
            Path(Settings.from_environment().home, "thief").write_text(str(os.getpid()))
            signal.pause()
    while not Path(Settings.from_environment().home, "thief").exists():
        pass


def programs(settings: Settings) -> list[Program]:
    environment = settings.to_environment()
    api = [sys.executable, "-m", "tests.support.fake_service", "api", *sys.argv[1:]]
    does = "print('DOWNSHIFT_X: not like this'); sys.exit(2)" if "refuse-worker" in sys.argv else "print('waiting')"
    worker = [sys.executable, "-c", f"import signal, sys; {does}; signal.pause()"]
    return [Program("worker", worker, environment), Program("api", api, environment)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["api"]:
        fake_api(sys.argv[2])
    else:
        run.service_programs = programs
        sys.exit(cli.main(["run"]))
