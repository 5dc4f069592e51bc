"""A way to the service that can be cut."""

import contextlib
import socket
import threading
from collections.abc import Iterator

__all__ = ["Way", "way_to"]


class Way:
    """Passes on what comes to its port. `cut`: every connection breaks, and none is taken until `mend`."""

    def __init__(self, to: tuple[str, int]) -> None:
        self._to = to
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._listen()

    def _listen(self) -> None:
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._to)
                self._open |= {near, far}
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=[one, other], daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open -= {one, other}

    def cut(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in list(self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._listen()


@contextlib.contextmanager
def way_to(host: str, port: int) -> Iterator[Way]:
    way = Way((host, port))
    try:
        yield way
    finally:
        with contextlib.suppress(OSError):
            way.cut()
