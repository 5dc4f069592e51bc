"""Tells public internet addresses from those of this machine, its network and reserved ranges."""

import ipaddress
from ipaddress import IPv4Address, IPv6Address

__all__ = ["is_public"]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GIVEN_OUT = ipaddress.ip_network("2000::/3")  # global unicast; Python counts site-local addresses as global
_COMPATIBLE = ipaddress.ip_network("::/96")


def is_public(text: str) -> bool:
    """Whether `text` is a numeric address on the public internet. False for anything that is no address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        inside = _inside(address)
        if inside is not None:
            return is_public(str(inside))
        if address not in _GIVEN_OUT:
            return False
    return address.is_global and not (
        address.is_multicast or address.is_private or address.is_reserved or address.is_unspecified
    )


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside a mapped, 6to4, Teredo, NAT64 or compatible one."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
