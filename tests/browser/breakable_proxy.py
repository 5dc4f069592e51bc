"""A TCP proxy whose connections a test can break."""

import contextlib
import socket
import threading
from collections.abc import Iterator

__all__ = ["BreakableProxy", "proxy_to"]


class BreakableProxy:
    """Forwards connections. `cut` breaks all of them and accepts none until `restore`."""

    def __init__(self, to: tuple[str, int]) -> None:
        self._to = to
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._listen()

    def _listen(self) -> None:
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self._to)
                self._open |= {client, server}
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=[one, other], daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
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

    def restore(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._listen()


@contextlib.contextmanager
def proxy_to(host: str, port: int) -> Iterator[BreakableProxy]:
    proxy = BreakableProxy((host, port))
    try:
        yield proxy
    finally:
        with contextlib.suppress(OSError):
            proxy.cut()
