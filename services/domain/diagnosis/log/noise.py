"""Blocks of lines that TensorFlow prints at every start and that need no action. A log viewer may fold them."""

import re
from collections.abc import Iterable

__all__ = ["noise_in"]

# Errors are never noise, even where they usually mean nothing: people read a log to find them.
_BEGINS = re.compile(
    rb"""
      ^WARNING:tensorflow:From\ .*\ is\ deprecated
    | ^\[[^\]]{1,40}\]\ tensorflow\ WARNING:\ From\ .*\ is\ deprecated
    | oneDNN\ custom\ operations\ are\ on
    | This\ TensorFlow\ binary\ is\ optimized
    | Could\ not\ find\ cuda\ drivers\ on\ your\ machine
    | Unable\ to\ register\ cu(?:DNN|FFT|BLAS)\ factory
    | TF-TRT\ Warning:\ Could\ not\ find\ TensorRT
    | All\ log\ messages\ before\ absl::InitializeLog
    | Local\ rendezvous\ is\ aborting\ with\ status:\ OUT_OF_RANGE:\ End\ of\ sequence
    | tf_record_dataset_op\.cc:\d+\]\ .*buffer[_\ ]size
    | successful\ NUMA\ node\ read\ from\ SysFS\ had\ negative\ value
    | UserWarning:\ .*\ is\ deprecated
    """,
    re.VERBOSE,
)
_GOES_ON = re.compile(rb"^(?:To enable the following instructions:|Instructions for updating:|\s{2,}warnings\.warn\()")
_LOOKED_AT = 1000  # bytes of a line: patterns with `.*` take quadratic time
_ADVICE = b"Instructions for updating:"


def noise_in(lines: Iterable[bytes]) -> list[tuple[int, int]]:
    """The first and last line of each block, counted from 1; neighbouring blocks are one."""
    found: list[tuple[int, int]] = []
    is_advice = was_announced = False  # advice: the line after its announcement, and indented lines below
    for number, line in enumerate(lines, 1):
        follows = bool(found) and found[-1][1] == number - 1
        is_advice = follows and (was_announced or (is_advice and line.startswith(b"    ")))
        was_announced = follows and line.startswith(_ADVICE)
        if not (is_advice or _BEGINS.search(line, 0, _LOOKED_AT) or (follows and _GOES_ON.match(line))):
            continue
        found[-1 if follows else len(found) :] = [(found[-1][0] if follows else number, number)]
    return found
