"""Sizes in bytes and their text, which is the same in the service and in the dashboard."""

__all__ = ["SIZES"]

_KB, _MB = 2**10, 2**20

SIZES = [
    (0, "0 MB"),
    (1, "1 B"),
    (_KB - 1, "1023 B"),
    (_KB, "1 KB"),
    (1536, "2 KB"),  # both round a half up
    (_MB * 95 // 100, "973 KB"),
    (_MB * 95 // 100 + 1, "1 MB"),
    (_MB, "1 MB"),
    (_MB + _MB // 2, "1.5 MB"),
    (int(9.94 * _MB), "9.9 MB"),
    (int(9.95 * _MB) + 1, "10 MB"),
    (897 * _MB + _MB // 2, "898 MB"),
    (1000 * _MB, "1000 MB"),
    (1500 * _MB, "1500 MB"),
    (9999 * _MB, "9999 MB"),
    (10_000 * _MB, "10,000 MB"),
    (24_564 * _MB, "24,564 MB"),
    (81_559 * _MB + 1, "81,559 MB"),
    (2_000_000 * _MB, "2,000,000 MB"),
    (16 * 2**40, "16,777,216 MB"),
]
