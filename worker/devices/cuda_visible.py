"""CUDA_VISIBLE_DEVICES of the worker: which GPUs its operator leaves to Downshift."""

from collections.abc import Mapping

__all__ = ["visible"]


def visible(value: str | None, cards: Mapping[int, str | None]) -> set[int]:
    """The numbers of those of `cards` (number → uuid) that `value` names, read as CUDA reads it.

    Unset: all. Otherwise numbers, or uuids that may be cut short; at the first entry that names no card the list
    ends, which is how `-1` and an empty value hide every card. Numbers go by the PCI bus, as nvidia-smi's do: what
    CUDA calls 0 without CUDA_DEVICE_ORDER is not known here, so on a box of unlike cards uuids are the safe way.
    """
    if value is None:
        return set(cards)
    named = set[int]()
    for entry in value.split(","):
        number = _card(entry.strip(), cards)
        if number is None:
            break
        named.add(number)
    return named


def _card(entry: str, cards: Mapping[int, str | None]) -> int | None:
    if entry.isascii() and entry.isdecimal():
        return int(entry) if int(entry) in cards else None
    if not entry.upper().startswith("GPU-"):
        return None
    matches = [number for number, uuid in cards.items() if uuid and uuid.upper().startswith(entry.upper())]
    return matches[0] if len(matches) == 1 else None
