"""Short decimals for 32-bit floats. The schema's fields return 0.01 as 0.009999999776482582."""

import math
import struct


def float32(value: float) -> float:
    """`value` rounded to 32 bits; infinity where it is too large."""
    try:
        held: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return held


def shortest(value: float) -> float:
    """The shortest decimal that equals `value` in 32 bits."""
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if float32(short) == float32(value):
            return short
    return float(f"{value:.9g}")
