"""Masks are pasted where the OD API would paste them, and compressed as pycocotools would."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as rle

from worker.trainer import masks


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), height=st.integers(1, 40), width=st.integers(1, 40))
def test_a_part_is_compressed_as_the_whole_image_would_be(seed: int, height: int, width: int) -> None:
    random = np.random.default_rng(seed)
    top, left = int(random.integers(0, height)), int(random.integers(0, width))
    bottom, right = int(random.integers(top, height + 1)), int(random.integers(left, width + 1))
    part = random.random((bottom - top, right - left)) < random.random()
    whole = np.zeros((height, width), np.uint8)
    whole[top:bottom, left:right] = part

    compressed = masks.compress(part, top, left, height, width)

    assert (rle.decode(compressed) == whole).all()
    assert compressed == rle.encode(np.asfortranarray(whole))


@pytest.mark.parametrize("box", [(0.2, 0.1, 0.7, 0.9), (-0.3, 0.5, 0.5, 1.4), (0.0, 0.0, 1.0, 1.0)])
def test_a_full_mask_fills_its_box(box: tuple[float, float, float, float]) -> None:
    part, top, left = masks.paste(np.ones((15, 15)), box, 101, 201)

    ymin, xmin, ymax, xmax = np.clip(box, 0, 1) * [100, 200, 100, 200]
    assert (top, left) == (pytest.approx(ymin, abs=1), pytest.approx(xmin, abs=1))
    assert part.shape == (pytest.approx(ymax - ymin + 1, abs=1), pytest.approx(xmax - xmin + 1, abs=1))
    assert part.all()


@pytest.mark.parametrize("box", [(0.5, 0.5, 0.5, 0.9), (0.9, 0.9, 0.2, 0.95), (1.2, 1.2, 1.4, 1.4)])
def test_a_box_without_pixels_has_none(box: tuple[float, float, float, float]) -> None:
    part, top, left = masks.paste(np.ones((15, 15)), box, 101, 201)

    assert part.size == 0
    assert rle.area(masks.compress(part, top, left, 101, 201)) == 0
