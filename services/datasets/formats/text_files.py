"""Small text files of datasets: lists of names, labels, settings."""

from pathlib import Path

from services.domain.tfrecord import DatasetError

__all__ = ["lines", "text"]

_MOST = 64 * 2**20  # bytes; a list of a million pictures


def text(path: Path, shown: str, most: int = _MOST) -> str:
    """The file's text. `shown`: the file in messages. Raises DatasetError."""
    try:
        with path.open("rb") as file:
            found = file.read(most + 1)
        if len(found) > most:
            raise DatasetError("dataset_refused", f"{shown}: has more than {most:,} bytes")
        return found.decode("utf-8-sig")
    except OSError as error:
        raise DatasetError("dataset_missing", f"{shown}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DatasetError("dataset_refused", f"{shown}: is not text in UTF-8") from None


def lines(path: Path, shown: str) -> list[str]:
    """The lines without white space around them; empty ones are left out."""
    return [line for line in map(str.strip, text(path, shown).splitlines()) if line]
