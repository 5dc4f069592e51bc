"""Labels of boxes in pictures: the class name, or its number where the font cannot draw the name."""

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

# DejaVu comes with matplotlib and covers Latin, Greek, Cyrillic and more. The OD API asks for Arial, which few servers
# have, and falls back to an ASCII-only font.
_FONT = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
_SIZE = 12


def install_font() -> None:
    """Make the OD API draw with DejaVu. It has no option for that: it loads its own font for each box."""
    font = ImageFont.truetype(str(_FONT), _SIZE, layout_engine=ImageFont.Layout.BASIC)
    visualization_utils.ImageFont = SimpleNamespace(truetype=lambda *_: font)


def of(categories: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The OD API's category index, with names replaced by `#id` where they cannot be drawn."""
    return {
        number: {**category, "name": category["name"] if _can_write(category["name"]) else f"#{number}"}
        for number, category in categories.items()
    }


def numbered(categories: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    """The class names that are drawn as numbers, by id."""
    return {number: one["name"] for number, one in categories.items() if not _can_write(one["name"])}


def _can_write(name: str) -> bool:
    """Pillow's basic layout places each letter from left to right, so right-to-left scripts would be wrong."""
    return all(
        ord(letter) in _letters() and unicodedata.bidirectional(letter) not in ("R", "AL", "AN") for letter in name
    )


@functools.cache
def _letters() -> frozenset[int]:
    return frozenset(FT2Font(str(_FONT)).get_charmap())
