"""Messages to webhooks are sent: over connections that lead where they are allowed to, and no further.

The name is looked up here and the connection made to the address that was checked, so that a name which leads
elsewhere a moment later leads nowhere. Redirects are not followed, answers are not read beyond their first line.
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
from services.webhooks.delivery import Answer, Parcel

__all__ = ["Office", "Refused", "Sender", "deliver_regularly", "send"]

_TIMEOUT_S = 10.0
_AT_ONCE = 8
_OF_ONE_USER = 2
_log = logging.getLogger(__name__)


class Refused(OSError):
    """The name leads to an address that nothing is sent to."""


def deliver_regularly(store: Store, settings: Settings, stopped: threading.Event) -> None:
    with Office(store, settings) as office:
        while not stopped.is_set():
            try:
                while office.send_due() and not stopped.is_set():
                    pass
            except StoreUnavailable as error:
                _log.warning("the database does not answer: %s", error)
            except Exception:
                _log.exception("messages to webhooks could not be sent; the next try is in %s s", settings.poll_s)
            office.wait(settings.poll_s)


class Office:
    """Sends several messages at once, few of them one user's: receivers that let one wait hold nobody else up."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="webhook")
        self._in_hand: Counter[int] = Counter()  # by user
        self._lock = threading.Lock()
        self._is_freed = threading.Event()  # a hand, since the last look

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """What is under way is sent."""
        self._pool.shutdown()

    def send_due(self) -> int:
        """Begin to send what is due, as far as there are hands for it; returns how many messages that was."""
        self._is_freed.clear()
        with self._lock:
            free = _AT_ONCE - self._in_hand.total()
            left = {user_id: _OF_ONE_USER - count for user_id, count in self._in_hand.items()}
        parcels = delivery.take_due(self._store, free, _OF_ONE_USER, left) if free else []
        for parcel in parcels:
            with self._lock:
                self._in_hand[parcel.user_id] += 1
            self._pool.submit(self._deliver, parcel)
        return len(parcels)

    def wait(self, seconds: float) -> None:
        """Until a message is out of hand; at most so long."""
        self._is_freed.wait(seconds)

    def _deliver(self, parcel: Parcel) -> None:
        try:
            answer = send(parcel, self._settings.webhook_private)
            delivery.note(self._store, parcel, answer)
            if not answer.is_good:
                _log.warning("webhook %s: %s", parcel.webhook_id, answer.error or f"answered {answer.status}")
        except StoreUnavailable as error:
            _log.warning(
                "webhook %s: the result of a delivery was not saved, so it is sent again: %s", parcel.webhook_id, error
            )
        except Exception:
            _log.exception("webhook %s: a message was not sent; it will be retried", parcel.webhook_id)
        finally:
            with self._lock:
                self._in_hand -= Counter([parcel.user_id])
            self._is_freed.set()


def send(parcel: Parcel, allow_private: bool) -> Answer:
    """Never raises for what a receiver does, or does not."""
    sender = Sender(parcel.url, allow_private)
    timer = threading.Timer(_TIMEOUT_S, sender.break_off)  # one that answers a byte a second is late all the same
    timer.start()
    try:
        return Answer(sender.post(parcel))
    except Refused as error:
        return Answer(None, str(error))
    except (OSError, http.client.HTTPException, ValueError) as error:
        if sender.is_late:
            return Answer(None, f"no answer within {_TIMEOUT_S:.0f} s")
        return Answer(None, f"it could not be reached: {error or type(error).__name__}")
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
        self.is_late = False

    def post(self, parcel: Parcel) -> int:
        """The answer's status."""
        host = self._parts.hostname or ""
        is_tls = self._parts.scheme == "https"
        port = self._parts.port or (443 if is_tls else 80)
        self._socket = self._connect(host, port)
        if is_tls:
            context = ssl.create_default_context()
            # In two steps: while a socket is being wrapped there is none that `break_off` could end.
            wrapped = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
            self._socket = wrapped
            self._check_time()
            wrapped.do_handshake()
        self._check_time()
        self._connection = http.client.HTTPConnection(host, port)
        self._connection.sock = self._socket
        timestamp = int(time.time())
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        headers = {
            "Host": self._parts.netloc,
            "Content-Type": "application/json",
            "User-Agent": "downshift-webhooks",
            "Connection": "close",
            **signing.headers(parcel.secret, parcel.message_id, timestamp, parcel.body),
        }
        self._connection.request("POST", path, parcel.body, headers)
        return self._connection.getresponse().status

    def _connect(self, host: str, port: int) -> socket.socket:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        private = [address for address in addresses if not is_public(address)]
        if private and not self._allow_private:
            raise Refused(f"{host} resolves to {private[0]}, a private address")
        problem: OSError | None = None
        for address in addresses:
            if self.is_late:
                break
            try:
                return socket.create_connection((address, port), _TIMEOUT_S)
            except OSError as error:
                problem = error
        raise problem or OSError(f"{host} does not resolve to an address")

    def _check_time(self) -> None:
        """Who was late before there was a socket to end is late now. Raises OSError."""
        if self.is_late:
            raise TimeoutError

    def break_off(self) -> None:
        self.is_late = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._socket is not None:
            self._socket.close()
