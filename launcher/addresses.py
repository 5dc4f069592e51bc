"""Where the api listens: is the port free, which one is, and how it is reached from this machine."""

import errno
import socket

from services.settings import SettingsError

__all__ = ["free_bind", "reachable", "url"]

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def free_bind(address: tuple[str, int]) -> str:
    """`address` as DOWNSHIFT_BIND has it, with a free port in place of 0. Raises SettingsError where it is taken."""
    host, port = address
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
            port = trial.getsockname()[1]
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"port {port} of {host} is in use by another program; name another one, such as {host}:{port + 1}"
        else:
            problem = f"cannot listen on {_bracketed(host)}:{port}: {error.strerror}"
        raise SettingsError(f"DOWNSHIFT_BIND: {problem}") from None
    return f"{_bracketed(host)}:{port}"


def reachable(address: tuple[str, int]) -> tuple[str, int]:
    """Where this machine finds what listens on `address`."""
    host, port = address
    return _EVERYWHERE.get(host, host), port


def url(address: tuple[str, int]) -> str:
    host, port = reachable(address)
    return f"http://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
