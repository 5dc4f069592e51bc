"""The worker's CUDA_VISIBLE_DEVICES: which GPUs Downshift may use."""

from collections.abc import Mapping
from typing import TypeVar

__all__ = ["Place", "visible"]

Key = TypeVar("Key")
Place = tuple[int, int | None]  # a GPU's number, and that of its MIG instance; None: the whole GPU


def visible(value: str | None, cards: Mapping[int, str | None], devices: Mapping[Place, str | None]) -> set[Place]:
    """Those of the `devices` (place → uuid) that `value` names, read as CUDA reads it. `cards`: the GPUs' uuids.

    None (the variable is not set) names all. Otherwise entries are numbers of GPUs, or uuids of GPUs or MIG instances,
    which may be abbreviated. A GPU with MIG stands for all its instances. The list ends at the first entry that names
    nothing: that is how `-1` and an empty value hide every card. Numbers are in the order of the PCI bus, as in
    nvidia-smi. Without CUDA_DEVICE_ORDER, CUDA may count differently, so on a host with different models of cards
    uuids are the safe choice.
    """
    if value is None:
        return set(devices)
    named = set[Place]()
    for entry in value.split(","):
        found = _places(entry.strip(), cards, devices)
        if not found:
            break
        named |= found
    return named


def _places(entry: str, cards: Mapping[int, str | None], devices: Mapping[Place, str | None]) -> set[Place]:
    if entry.upper().startswith("MIG-"):
        return _only(entry, {place: uuid for place, uuid in devices.items() if place[1] is not None})
    if entry.isascii() and entry.isdecimal():
        numbers = {int(entry)}
    else:
        numbers = _only(entry, cards) if entry.upper().startswith("GPU-") else set()
    return {place for place in devices if place[0] in numbers}


def _only(entry: str, uuids: Mapping[Key, str | None]) -> set[Key]:
    """The one whose uuid begins so; nothing if there are several."""
    matches = {key for key, uuid in uuids.items() if uuid and uuid.upper().startswith(entry.upper())}
    return matches if len(matches) == 1 else set()
