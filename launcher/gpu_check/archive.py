"""The archive of a check: versions, logs and figures, for a bug report. No data, and no names of people or hosts."""

import getpass
import io
import json
import re
import socket
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from services.attempt_paths import CHECK_LOG_FILE, FINDINGS_FILE
from services.domain.contract import EVENTS_FILE, LOG_FILE, OUTCOME_FILE

__all__ = ["Scrubber", "write_archive"]

_LARGEST = 16 * 2**20  # bytes of a log; its end is kept
_USUAL = {"root", "localhost"}  # names nobody, and is a word of messages
_PATHS = re.compile(r"(?<![\w.])/(?:home|Users|root|mnt|media|data|srv)/[^\s:\"',;)\]}]+")
_ADDRESSES = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")


class Scrubber:
    """Replaces what names the user, the host and their folders."""

    def __init__(self, home: Path) -> None:
        named = {str(home): "HOME", str(Path.home()): "~", socket.gethostname(): "HOST", _user(): "USER"}
        words = sorted(filter(None, named.keys() - _USUAL), key=len, reverse=True)
        self._named = named
        self._words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")

    def text(self, text: str) -> str:
        text = self._words.sub(lambda found: self._named[found[0]], text)
        return _ADDRESSES.sub("ADDRESS", _PATHS.sub("PATH", text))

    def value(self, value: Any) -> Any:
        """The same for all texts of a JSON value, without other people's processes."""
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items() if key not in ("processes", "owner")}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value


def write_archive(path: Path, scrubber: Scrubber, results: Mapping[str, Any], folders: Mapping[str, Path]) -> None:
    """`results` becomes results.json; of each folder in `folders`, by name, what an attempt or a check wrote."""
    with tarfile.open(path, "w:gz") as archive:
        _add(archive, "results.json", json.dumps(scrubber.value(results), indent=1))
        for name, folder in folders.items():
            for file in (LOG_FILE, EVENTS_FILE, OUTCOME_FILE, CHECK_LOG_FILE, FINDINGS_FILE):
                if (folder / file).is_file():
                    _add(archive, f"{name}/{file}", scrubber.text(_end_of(folder / file)))


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, io.SEEK_END)
        file.seek(max(0, file.tell() - _LARGEST))
        return file.read().decode(errors="replace")


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return ""
