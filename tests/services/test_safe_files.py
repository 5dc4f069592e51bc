"""Opening files below a root, and reading the ends of long logs."""

import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services import safe_files
from services.errors import NotFound
from services.logs import read


def test_a_file_below_the_root_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").write_text("x")
    with safe_files.open_below(tmp_path, "a/b/c.txt") as file:
        assert file.read() == b"x"


@pytest.mark.parametrize(
    "name", ["", "/", ".", "..", "a/..", "a/../secret", "/etc/passwd", "a//b", "a/b/", "link", "folder/secret", "a\0b"]
)
def test_links_parents_and_folders_are_not_opened(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    with pytest.raises(NotFound):
        safe_files.open_below(root, name)


def test_exactly_size_bytes_are_read_from_a_file_that_grows_or_shrinks() -> None:
    assert b"".join(safe_files.read_exactly(io.BytesIO(b"abcdef"), 3)) == b"abc"
    assert b"".join(safe_files.read_exactly(io.BytesIO(b"ab"), 4)) == b"ab\0\0"
    assert b"".join(safe_files.read_exactly(io.BytesIO(b""), 0)) == b""


def test_a_file_name_that_is_not_utf_8_is_skipped(tmp_path: Path) -> None:
    """JSON cannot contain such a name; the other files are listed."""
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "model").touch()
    (tmp_path / "export" / os.fsdecode(b"\xff")).touch()
    assert [entry.name for entry in safe_files.walk_below(tmp_path, "export", 9)] == ["export/model"]


def test_the_walk_of_a_large_folder_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(20):
        (tmp_path / "many" / f"{number:02}").touch()
    assert [entry.name for entry in safe_files.walk_below(tmp_path, "many", 3)] == ["many/00", "many/01", "many/02"]
    assert list(safe_files.walk_below(tmp_path, "none", 3)) == []


@given(
    text=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ")), max_size=30),
    ends=st.booleans(),
    lines=st.integers(1, 40),
    chunk=st.integers(1, 16),
)
def test_the_tail_is_the_last_lines_for_any_chunk_size(text: list[bytes], ends: bool, lines: int, chunk: int) -> None:
    data = b"\n".join(text) + (b"\n" if ends and text else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "CHUNK", chunk)
        tail, is_cut = read._tail(io.BytesIO(data), lines)
    whole = io.BytesIO(data).readlines()
    assert tail == b"".join(whole[-lines:])
    assert not is_cut


def test_a_very_long_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_MOST_TAIL", 1000)
    monkeypatch.setattr(read, "CHUNK", 100)
    tail, is_cut = read._tail(io.BytesIO(b"x" * 5000), 3)
    assert tail == b"x" * 1000
    assert is_cut
