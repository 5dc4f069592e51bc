"""Numbers as people write them. The schema's floats have 32 bits: 0.01 comes back as 0.009999999776482582."""

import math
import struct


def float32(value: float) -> float:
    """`value` as a 32-bit field will hold it; infinity where it is too large for one."""
    try:
        held: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return held


def shortest(value: float) -> float:
    """The shortest decimal that a 32-bit field holds as `value`."""
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if float32(short) == float32(value):
            return short
    return float(f"{value:.9g}")
