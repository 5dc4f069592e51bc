"""Sizes and counts as text. Sentences, tables and the dashboard write them in this one way."""

__all__ = ["counted", "in_mb"]

_KB, _MB = 2**10, 2**20


def counted(count: int, noun: str) -> str:
    """ "1 step", "2,000 steps"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def in_mb(count: int) -> str:
    """ "1500 MB", "24,576 MB", "9.4 MB"; in KB what is less than one.

    Limits are set in MB (`DOWNSHIFT_DEVICES`, `min_memory_mb`), and drivers and TensorFlow count in MB of 2^20 bytes:
    people recognise their own numbers. `bytes` in the dashboard's format.js gives the same text.
    """
    if count == 0:
        return "0 MB"
    tenths = (10 * count + _MB // 2) // _MB
    if tenths >= 100:
        whole = (count + _MB // 2) // _MB
        return f"{whole:,} MB" if whole >= 10_000 else f"{whole} MB"
    if tenths >= 10:
        return f"{tenths / 10:g} MB"
    return f"{(count + _KB // 2) // _KB} KB" if count >= _KB else f"{count} B"
