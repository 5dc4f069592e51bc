"""Class names in pictures are readable, or replaced by numbers that can be looked up."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

WRITTEN = ["cat", "Straßenschild", "Γάτα", "Пешеход", "ñandú 3 %"]
NUMBERED = ["猫", "고양이", "قطة", "חתול", "cat 猫", "two\nlines"]


def drawn(folder: Path, name: str) -> Any:
    """The picture of one box of class 7, which has this name."""
    from worker.trainer.evaluation import class_labels, samples

    encoded = io.BytesIO()
    Image.new("RGB", (300, 200)).save(encoded, "PNG")
    box, one = np.array([[80, 20, 180, 250]], np.float32), np.ones(1, np.float32)
    truth, prediction = (samples.Objects(is_truth, box, 7 * one, one) for is_truth in (True, False))
    names = class_labels.of({7: {"id": 7, "name": name}})
    samples.draw(folder / "drawn.png", encoded.getvalue(), (200, 300), truth, prediction, names)
    return np.asarray(Image.open(folder / "drawn.png"))


@pytest.mark.parametrize("name", WRITTEN)
def test_a_name_that_the_font_covers_is_drawn(tmp_path: Path, name: str) -> None:
    from worker.trainer.evaluation import class_labels

    picture = drawn(tmp_path, name)

    assert class_labels.numbered({7: {"id": 7, "name": name}}) == {}
    assert not np.array_equal(picture, drawn(tmp_path, "�" * len(name)))  # the font's sign for a missing letter
    assert not np.array_equal(picture, drawn(tmp_path, "猫"))


@pytest.mark.parametrize("name", NUMBERED)
def test_a_name_that_the_font_does_not_cover_is_drawn_as_its_number(tmp_path: Path, name: str) -> None:
    from worker.trainer.evaluation import class_labels

    assert class_labels.numbered({7: {"id": 7, "name": name}}) == {7: name}
    assert np.array_equal(drawn(tmp_path, name), drawn(tmp_path, "#7"))


def test_letters_with_different_shapes_are_drawn_differently(tmp_path: Path) -> None:
    """A font without these letters would draw the same empty box for each."""
    assert not np.array_equal(drawn(tmp_path, "жук"), drawn(tmp_path, "кит"))


def test_a_label_lies_within_its_rectangle(tmp_path: Path) -> None:
    """Letters are black on the class's colour and must not cross the line of the box below."""
    side = drawn(tmp_path, "gjpqy")[:, :300]
    line = side[79:81, 30:240]
    assert (line == line[0, 0]).all()
    assert line.any()
