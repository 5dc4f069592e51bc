"""Label maps: valid names of classes, and mistakes with their lines."""

from pathlib import Path

import pytest

from services.datasets import label_map
from services.domain.tfrecord import DatasetError

FILE = Path("map.pbtxt")


def test_classes_are_found_by_name_and_by_display_name() -> None:
    found = label_map.parse(FILE, "item { id: 2 name: '/m/2' display_name: 'dog' }\nitem { id: 1 name: 'cat' }")
    assert dict(found.names) == {1: "cat", 2: "dog"}
    assert list(found.names) == [1, 2]
    assert found.ids == {"/m/2": 2, "dog": 2, "cat": 1}


def test_ids_may_have_gaps_and_the_highest_counts() -> None:
    assert label_map.parse(FILE, "item { id: 90 name: 'toothbrush' }").num_classes == 90


def test_the_written_label_map_has_the_same_meaning() -> None:
    first = label_map.parse(
        FILE, "# ours\nitem: { name: \"it's ä\", id: 1, display_name: 'b' } item { id: 3 name: 'c' }"
    )
    assert label_map.parse(FILE, first.text) == first


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "map.pbtxt"
    path.write_bytes(b"\xef\xbb\xbfitem { id: 1 name: 'cat' }\r\n")
    assert dict(label_map.read(path).names) == {1: "cat"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "map.pbtxt: names no class"),
        ("cat\ndog\n", "line 1: is not a label map"),
        ("item {\n  id: 1\n  nmae: 'cat'\n}", "line 3: is not a label map .*nmae"),
        ("item {\n  id: 1\n  name: 'cat'\n", "line 3: is not a label map"),
        ("item {\n  id: one\n}", "line 2: is not a label map"),
        ("item {\n  id: 1\n}", "line 1: the item has no name"),
        ("\nitem {\n  name: 'cat'\n}", "line 2: 'cat' has no id"),
        ("item {\n  name: 'cat'\n  id: 0\n}", "line 3: 'cat' has id 0; .*background"),
        ("item {\n  name: 'cat'\n  id: -1\n}", "line 3: 'cat' has id -1; .*from 1"),
        ("item {\n  name: 'cat'\n  id: 10001\n}", "line 3: 'cat' has id 10001; .*at most 10000"),
        ("item { id: 1 name: 'cat' }\nitem {\n id: 1\n name: 'dog' }", "line 3: 'dog' has id 1, which 'cat' has"),
        ("item { id: 1 name: 'cat' }\nitem { id: 2\n name: 'cat' }", "line 3: 'cat' is the name of id 1 already"),
        (
            "item { id: 1 name: 'cat' }\nitem { id: 2 name: 'x'\n\n display_name: 'cat' }",
            "line 4: 'cat' is the name of",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        label_map.parse(FILE, text)
    assert caught.value.code == "dataset_refused"


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DatasetError, match="is not text"):
        label_map.read(tmp_path / "binary")
    with pytest.raises(DatasetError, match="No such file"):
        label_map.read(tmp_path / "nowhere")
