"""The worker's CUDA_VISIBLE_DEVICES: which GPUs Downshift may use."""

from collections.abc import Mapping

__all__ = ["visible"]


def visible(value: str | None, cards: Mapping[int, str | None]) -> set[int]:
    """The numbers of those `cards` (number → uuid) that `value` names, read as CUDA reads it.

    None (the variable is not set) names all. Otherwise entries are numbers, or uuids that may be abbreviated. The list
    ends at the first entry that names no card: that is how `-1` and an empty value hide every card. Numbers are in the
    order of the PCI bus, as in nvidia-smi. Without CUDA_DEVICE_ORDER, CUDA may count differently, so on a host with
    different models of cards uuids are the safe choice.
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
