"""The address on which the api listens, and its URL."""

import socket

import pytest

from launcher import addresses
from services.settings import SettingsError


def test_the_error_for_a_port_in_use_names_its_variable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"DOWNSHIFT_BIND: port {port} of 127.0.0.1 is in use by another"):
            addresses.free_bind(("127.0.0.1", port))


def test_the_error_for_an_address_of_another_machine_names_its_variable() -> None:
    with pytest.raises(SettingsError, match=r"DOWNSHIFT_BIND: cannot listen on 192\.0\.2\.1:80"):
        addresses.free_bind(("192.0.2.1", 80))


def test_port_0_is_replaced_by_a_free_port() -> None:
    host, _, port = addresses.free_bind(("127.0.0.1", 0)).rpartition(":")

    assert host == "127.0.0.1"
    assert int(port) > 0


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (("127.0.0.1", 8080), "http://127.0.0.1:8080"),
        (("0.0.0.0", 80), "http://127.0.0.1:80"),
        (("::", 80), "http://[::1]:80"),
        (("gpu-box", 80), "http://gpu-box:80"),
    ],
)
def test_the_shown_url_can_be_opened_on_this_machine(address: tuple[str, int], url: str) -> None:
    assert addresses.url(address) == url
