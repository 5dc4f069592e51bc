"""Which addresses are the internet's. The others are this machine, its network, or nobody."""

import ipaddress
from ipaddress import IPv4Address, IPv6Address

__all__ = ["is_public"]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GIVEN_OUT = ipaddress.ip_network("2000::/3")  # of IPv6; Python calls site-local addresses global
_COMPATIBLE = ipaddress.ip_network("::/96")


def is_public(text: str) -> bool:
    """Whether `text`, an address in numbers, is one that anybody may be sent to. False for what is no address."""
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
    """The IPv4 address that packets to this one come out at."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
