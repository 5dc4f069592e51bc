"""Read people's picture files as training can read them: upright, JPEG or PNG, 8 bits, grey or in colour."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from services.datasets.annotations import MAX_PIXELS, opened_size

__all__ = ["LoadedImage", "load"]

_FORMATS = ("JPEG", "PNG", "BMP", "WEBP", "GIF", "TIFF")
_MOST_BYTES = 512 * 2**20
_ORIENTATION = 0x0112
_QUALITY = 95
_DEEP = ("I", "I;16", "I;16B", "I;16L")

TURNED = "the picture was turned upright, as its EXIF data says"
RECODED = "the picture was stored anew, as training reads 8-bit grey or RGB in JPEG or PNG only"
SIDEWAYS = "EXIF turns the picture, but its boxes are for the pixels as they are stored; look at them"


@dataclass(frozen=True)
class LoadedImage:
    encoded: bytes
    format: str  # jpeg or png
    height: int
    width: int
    remarks: tuple[tuple[str, str], ...] = ()  # code and message


def load(path: Path, annotated: tuple[int, int] | None) -> LoadedImage:
    """`annotated`: height and width that the boxes are for, if known. Raises ValueError.

    The file's own bytes are kept wherever training can read them.
    """
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise ValueError(f"has {size:,} bytes")
        encoded = path.read_bytes()
        with Image.open(io.BytesIO(encoded), formats=_FORMATS) as image:
            return _loaded(image, encoded, annotated)
    except MemoryError:  # the picture may be good
        raise
    except Exception as error:  # Pillow raises almost any exception for damaged images
        raise ValueError(f"cannot be read as a picture: {error}") from None


def _loaded(image: Image.Image, encoded: bytes, annotated: tuple[int, int] | None) -> LoadedImage:
    width, height = image.size
    if height * width > MAX_PIXELS:
        raise ValueError(f"it has {width}x{height} pixels; scale it down, {MAX_PIXELS:,} are the most")
    turn = image.getexif().get(_ORIENTATION, 1) if image.format in ("JPEG", "PNG", "WEBP", "TIFF") else 1
    remarks: list[tuple[str, str]] = []
    is_turned = turn in range(2, 9)
    if is_turned and annotated == (height, width) and (turn < 5 or height != width):
        is_turned = False
        remarks.append(("image_sideways", SIDEWAYS))
    kept = image.format in ("JPEG", "PNG") and image.mode in ("1", "L", "P", "RGB", "RGBA", "LA")
    if kept and not is_turned:
        opened_size(encoded)
        return LoadedImage(encoded, str(image.format).lower(), height, width, tuple(remarks))
    is_jpeg = image.format == "JPEG"
    upright = ImageOps.exif_transpose(image) if is_turned else image
    if is_turned:
        remarks.append(("image_turned", TURNED))
    if not kept:
        remarks.append(("image_recoded", RECODED))
    if upright.mode in _DEEP:
        upright = _eight_bits(upright)
    if upright.mode not in ("L", "RGB"):
        upright = upright.convert("RGB")
    buffer = io.BytesIO()
    if is_jpeg:
        upright.save(buffer, "JPEG", quality=_QUALITY)
    else:
        upright.save(buffer, "PNG", compress_level=1)
    return LoadedImage(buffer.getvalue(), "jpeg" if is_jpeg else "png", upright.height, upright.width, tuple(remarks))


def _eight_bits(image: Image.Image) -> Image.Image:
    """The upper byte of each value, as TensorFlow reads a 16-bit PNG."""
    return Image.fromarray((np.clip(np.asarray(image), 0, 2**16 - 1).astype(np.uint16) >> 8).astype(np.uint8))
