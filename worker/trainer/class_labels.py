"""What stands at a box in a picture: the name of its class, or its number where the font cannot write the name."""

import functools
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
from matplotlib.ft2font import FT2Font
from object_detection.utils import visualization_utils
from PIL import ImageFont

# DejaVu comes with matplotlib: Latin, Greek, Cyrillic and more. The OD API asks for Arial, which few servers have, and
# falls back to a font of ASCII alone.
_FONT = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
_SIZE = 12


def install_font() -> None:
    """Have the OD API draw with our font. It loads its own at each box, and takes no other."""
    font = ImageFont.truetype(str(_FONT), _SIZE, layout_engine=ImageFont.Layout.BASIC)
    visualization_utils.ImageFont = SimpleNamespace(truetype=lambda *_: font)


def of(categories: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The OD API's categories by id, as they are drawn."""
    return {
        number: {**category, "name": category["name"] if _can_write(category["name"]) else f"#{number}"}
        for number, category in categories.items()
    }


def numbered(categories: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    """The names for which a number is drawn."""
    return {number: one["name"] for number, one in categories.items() if not _can_write(one["name"])}


def _can_write(name: str) -> bool:
    """Letters are set from left to right, each by itself: that does for no script that runs from right to left."""
    return all(
        ord(letter) in _letters() and unicodedata.bidirectional(letter) not in ("R", "AL", "AN") for letter in name
    )


@functools.cache
def _letters() -> frozenset[int]:
    return frozenset(FT2Font(str(_FONT)).get_charmap())
