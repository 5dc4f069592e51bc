"""A receiver of webhooks: a real web server that records requests and answers as configured."""

import base64
import contextlib
import hashlib
import hmac
import json
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["Got", "Receiver", "receiving", "verify"]


@dataclass(frozen=True)
class Got:
    headers: dict[str, str]  # by lower-case name
    body: bytes
    path: str

    @property
    def message(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """`statuses`: of the first answers; `status`: of all others. With a `certificate` it uses TLS."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.all: list[Got] = []
        self.statuses: list[int] = []
        self.status, self.delay_s = 200, 0.0
        self.headers: dict[str, str] = {}
        self.asked_for: list[str | None] = []  # server names of the TLS handshakes
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.all.append(Got(headers, body, self.path))
                status = receiver.statuses.pop(0) if receiver.statuses else receiver.status
                with receiver.one_more():
                    time.sleep(receiver.delay_s)
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in receiver.headers.items():
                        self.send_header(name, value)
                    self.end_headers()

            do_GET = do_POST

            def log_message(self, *rest: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *rest: Any) -> None:
                """Ignore clients that do not trust the certificate and disconnect."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.scheme = "http" if certificate is None else "https"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            context.sni_callback = lambda _socket, name, _context: self.asked_for.append(name)
            # The connection's own thread does the handshake when it first reads.
            self.server.socket = context.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )

    @contextlib.contextmanager
    def one_more(self) -> Iterator[None]:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        yield
        with self._lock:
            self._at_once -= 1

    def url(self, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}/hook?team=1"

    @property
    def got(self) -> list[tuple[dict[str, str], bytes]]:
        return [(one.headers, one.body) for one in self.all]

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.all]

    def messages(self) -> list[Any]:
        return [one.message for one in self.all]


@contextlib.contextmanager
def receiving(certificate: Path | None = None) -> Iterator[Receiver]:
    made = Receiver(certificate)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


def verify(secret: str, headers: dict[str, str], body: bytes) -> None:
    """Verify the signature by the specification, without using our signing code."""
    assert secret.startswith("whsec_")
    key = base64.standard_b64decode(secret[len("whsec_") :])
    assert 24 <= len(key) <= 64
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 300
    content = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    expected = base64.standard_b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    version, _, signature = headers["webhook-signature"].partition(",")
    assert version == "v1"
    assert hmac.compare_digest(signature, expected)
