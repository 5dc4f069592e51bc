"""The address of the api: a free port to listen on, and the URL for clients on this machine."""

import errno
import socket

from services.settings import SettingsError

__all__ = ["free_bind", "reachable", "url"]

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def free_bind(address: tuple[str, int]) -> str:
    """`address` in the form of DOWNSHIFT_BIND, with a free port instead of 0. Raises SettingsError if it is in use."""
    host, port = address
    try:
        family, kind, protocol, _, resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(resolved)
            port = probe.getsockname()[1]
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"port {port} of {host} is in use by another program; choose another, such as {host}:{port + 1}"
        else:
            problem = f"cannot listen on {_bracketed(host)}:{port}: {error.strerror}"
        raise SettingsError(f"DOWNSHIFT_BIND: {problem}") from None
    return f"{_bracketed(host)}:{port}"


def reachable(address: tuple[str, int]) -> tuple[str, int]:
    """The address at which clients on this machine reach a server that listens on `address`."""
    host, port = address
    return _LOOPBACK.get(host, host), port


def url(address: tuple[str, int]) -> str:
    host, port = reachable(address)
    return f"http://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
