"""Send messages to webhooks, and only to addresses that are allowed.

The host name is resolved here, and the connection is made to the address that was checked: a name that resolves to
another address a moment later has no effect. Redirects are not followed, and only the status of an answer is read.
"""

import contextlib
import http.client
import logging
import socket
import ssl
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Self
from urllib.parse import urlsplit

from services.domain.webhooks import signing
from services.domain.webhooks.public_addresses import is_public
from services.settings import Settings
from services.store.engine import Store, StoreUnavailable
from services.webhooks import delivery
from services.webhooks.delivery import DueMessage, SendResult

__all__ = ["deliver_regularly"]

_TIMEOUT_S = 10.0
_THREADS = 8
_THREADS_PER_USER = 2
_log = logging.getLogger(__name__)


class _PrivateAddress(OSError):
    """The host name resolves to an address to which nothing may be sent."""


def deliver_regularly(store: Store, settings: Settings, stopped: threading.Event) -> None:
    with SendPool(store, settings) as pool:
        while not stopped.is_set():
            try:
                while pool.send_due() and not stopped.is_set():
                    pass
            except StoreUnavailable as error:
                _log.warning("the database does not answer: %s", error)
            except Exception:
                _log.exception("messages to webhooks could not be sent; next try in %s s", settings.poll_s)
            pool.wait(settings.poll_s)


class SendPool:
    """Sends several messages at once, but few of each user: slow receivers of one user must not delay the others."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="webhook")
        self._sending: Counter[int] = Counter()  # messages being sent, by user
        self._lock = threading.Lock()
        self._is_freed = threading.Event()  # whether a thread has become free since the last `send_due`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for the messages that are being sent."""
        self._pool.shutdown()

    def send_due(self) -> int:
        """Begin to send messages that are due, as many as there are free threads; returns how many."""
        self._is_freed.clear()
        with self._lock:
            free = _THREADS - self._sending.total()
            left = {user_id: _THREADS_PER_USER - count for user_id, count in self._sending.items()}
        messages = delivery.claim_due(self._store, free, _THREADS_PER_USER, left) if free else []
        for message in messages:
            with self._lock:
                self._sending[message.user_id] += 1
            self._pool.submit(self._deliver, message)
        return len(messages)

    def wait(self, seconds: float) -> None:
        """Until a thread becomes free, or `seconds` have passed."""
        self._is_freed.wait(seconds)

    def _deliver(self, message: DueMessage) -> None:
        try:
            answer = send(message, self._settings.webhook_private)
            delivery.record_result(self._store, message, answer)
            if not answer.is_success:
                _log.warning("webhook %s: %s", message.webhook_id, answer.error or f"answered {answer.status}")
        except StoreUnavailable as error:
            _log.warning(
                "webhook %s: the result of a delivery was not saved, so the message is sent again: %s",
                message.webhook_id,
                error,
            )
        except Exception:
            _log.exception("webhook %s: a message could not be sent; trying again later", message.webhook_id)
        finally:
            with self._lock:
                self._sending -= Counter([message.user_id])
            self._is_freed.set()


def send(message: DueMessage, allow_private: bool) -> SendResult:
    """Send one message. A failing receiver is a SendResult with an error, not an exception."""
    sender = Sender(message.url, allow_private)
    # The socket's own timeout is not enough: it starts again with every byte.
    timer = threading.Timer(_TIMEOUT_S, sender.abort)
    timer.start()
    try:
        return SendResult(sender.post(message))
    except _PrivateAddress as error:
        return SendResult(None, str(error))
    except (OSError, http.client.HTTPException, ValueError) as error:
        if sender.is_aborted:
            return SendResult(None, f"no answer within {_TIMEOUT_S:.0f} s")
        return SendResult(None, f"it could not be reached: {error or type(error).__name__}")
    finally:
        timer.cancel()
        sender.close()


class Sender:
    """One request to one address."""

    def __init__(self, url: str, allow_private: bool) -> None:
        self._parts = urlsplit(url)
        self._allow_private = allow_private
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self.is_aborted = False

    def post(self, message: DueMessage) -> int:
        """Send the message; returns the status of the answer."""
        host = self._parts.hostname or ""
        is_tls = self._parts.scheme == "https"
        port = self._parts.port or (443 if is_tls else 80)
        self._socket = self._connect(host, port)
        if is_tls:
            context = ssl.create_default_context()
            # In two steps: during the handshake there must be a socket that `abort` can shut down.
            wrapped = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
            self._socket = wrapped
            self._raise_if_aborted()
            wrapped.do_handshake()
        self._raise_if_aborted()
        self._connection = http.client.HTTPConnection(host, port)
        self._connection.sock = self._socket
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        headers = {
            "Host": self._parts.netloc,
            "Content-Type": "application/json",
            "User-Agent": "downshift-webhooks",
            "Connection": "close",
            **signing.headers(message.secret, message.message_id, int(time.time()), message.body),
        }
        self._connection.request("POST", path, message.body, headers)
        return self._connection.getresponse().status

    def _connect(self, host: str, port: int) -> socket.socket:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        private = [address for address in addresses if not is_public(address)]
        if private and not self._allow_private:
            raise _PrivateAddress(f"{host} resolves to {private[0]}, a private address")
        problem: OSError | None = None
        for address in addresses:
            if self.is_aborted:
                break
            try:
                return socket.create_connection((address, port), _TIMEOUT_S)
            except OSError as error:
                problem = error
        raise problem or OSError(f"{host} does not resolve to an address")

    def _raise_if_aborted(self) -> None:
        """`abort` may have come before there was a socket to shut down. Raises OSError."""
        if self.is_aborted:
            raise TimeoutError

    def abort(self) -> None:
        """End `post`, from another thread."""
        self.is_aborted = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._socket is not None:
            self._socket.close()
