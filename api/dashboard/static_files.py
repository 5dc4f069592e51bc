"""The dashboard's scripts, styles and icon, and the addresses they are served at."""

import functools
import hashlib
import importlib.util
from pathlib import Path

__all__ = ["PREFIX", "address_of", "is_for_log_in", "static_files"]

PREFIX = "/static/"
# The files of the log-in page. All others need a log-in.
_FOR_LOG_IN = frozenset(
    {"icon.svg", "css/app.css", "js/pages/login.js", "js/shared/api.js", "js/shared/dom.js", "js/frame/theme.js"}
)


def is_for_log_in(path: str) -> bool:
    """Does the log-in page need the file at this address, in any version?"""
    _, _, name = path.removeprefix(PREFIX).partition("/")
    return path.startswith(PREFIX) and name in _FOR_LOG_IN


def address_of(name: str) -> str:
    """The file's path with the version of all files in it: a changed file has a new address."""
    return f"{PREFIX}{_version()}/{name}"


@functools.cache
def static_files() -> dict[str, Path]:
    """Path on disk by name: the files in static/, and Plotly's script from the installed package."""
    root = Path(__file__).parent / "static"
    found = {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}
    plotly = importlib.util.find_spec("plotly")  # importing the package for one file would be slow
    assert plotly is not None
    assert plotly.submodule_search_locations
    return {**found, "plotly.min.js": Path(plotly.submodule_search_locations[0], "package_data", "plotly.min.js")}


@functools.cache
def _version() -> str:
    digest = hashlib.sha256()
    for name, path in static_files().items():
        digest.update(f"{name} {path.stat().st_size}\n".encode())
        if name != "plotly.min.js":  # 4 MB; its size is enough
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
