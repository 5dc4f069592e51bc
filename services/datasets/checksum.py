"""CRC-32C at about 100 MB/s with numpy, ten times as fast as `services.domain.tfrecord` without it.

A CRC is linear. So the data is cut into lanes of equal length, the CRCs of all lanes are computed in parallel, and then
combined in pairs, each shifted past the lanes to its right. Leading zeros do not change the result.
"""

import functools

import numpy as np
import numpy.typing as npt

from services.domain import tfrecord

__all__ = ["masked_crc32c"]

Words = npt.NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_LANE = 256  # bytes; shorter lanes take more combining, longer ones more steps for a small image
_BYTE, _HALF = np.uint32(0xFF), np.uint32(0xFFFF)
_SMALL = 4 * _LANE  # with less data, plain Python is as fast


def masked_crc32c(data: bytes) -> int:
    """The same result as `tfrecord.masked_crc32c`."""
    if len(data) < _SMALL:
        return tfrecord.masked_crc32c(data)
    crc = int(_fold(_remainders(_lanes(data)))) ^ 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _lanes(data: bytes) -> Words:
    """An array of 32-bit words with one column per lane."""
    lanes = -(-len(data) // _LANE)
    padded = np.zeros(lanes * _LANE, dtype=np.uint8)
    start = padded.size - len(data)
    padded[start:] = np.frombuffer(data, dtype=np.uint8)
    padded[start : start + 4] ^= 0xFF  # equals a CRC with the initial value of all ones
    return np.ascontiguousarray(padded.view("<u4").reshape(lanes, _LANE // 4).T, dtype=np.uint32)


def _remainders(lanes: Words) -> Words:
    low, high = _word_tables()
    crc: Words = np.zeros(lanes.shape[1], dtype=np.uint32)
    for words in lanes:
        crc ^= words
        crc = low[crc & _HALF] ^ high[crc >> 16]
    return crc


def _fold(crc: Words) -> np.uint32:
    level = 0
    while crc.size > 1:
        if crc.size % 2:
            crc = np.concatenate((np.zeros(1, dtype=np.uint32), crc))
        left, right = crc[0::2], crc[1::2]
        first, second, third, fourth = _fold_tables(level)
        crc = first[left & _BYTE] ^ second[left >> 8 & _BYTE] ^ third[left >> 16 & _BYTE] ^ fourth[left >> 24] ^ right
        level += 1
    folded: np.uint32 = crc[0]
    return folded


@functools.cache
def _fold_tables(level: int) -> tuple[Words, ...]:
    """Tables that shift each of a word's four bytes past `_LANE` · 2^level zero bytes."""
    values = np.arange(2**8, dtype=np.uint32)
    bits = _zero_bytes(_LANE << level)
    return tuple(_apply(bits, values << np.uint32(shift)) for shift in (0, 8, 16, 24))


def _zero_bytes(count: int) -> Words:
    """Each bit after `count` zero bytes; `count` is a power of two."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(8):
        bits = (bits >> np.uint32(1)) ^ np.where(bits & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    while count > 1:
        bits = _apply(bits, bits)
        count //= 2
    return bits


def _apply(bits: Words, values: Words) -> Words:
    """Apply the linear map that sends bit i to `bits[i]` to each value."""
    result: Words = np.zeros_like(values)
    for bit in range(32):
        chosen = (values >> np.uint32(bit)) & np.uint32(1)
        result ^= chosen * bits[bit]
    return result


@functools.cache
def _word_tables() -> tuple[Words, Words]:
    """Tables that shift the lower and the upper half of a word past four zero bytes."""
    halves = np.arange(2**16, dtype=np.uint32)
    bits = _zero_bytes(4)
    return _apply(bits, halves), _apply(bits, halves << np.uint32(16))
