"""Masks are decoded as for training, pasted as by the OD API, and compressed as by pycocotools."""

import io
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as rle

from services.datasets.convert import masks as convert

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow_ready")]

RANDOM = np.random.default_rng(1)
GREY, ALPHA = RANDOM.integers(0, 3, (20, 30), np.uint8), RANDOM.integers(0, 256, (20, 30), np.uint8)
COLOURS = RANDOM.integers(0, 3, (20, 30, 3), np.uint8)


def palette() -> Image.Image:
    """The first colour is not black and the second is, so the index alone is not the mask."""
    image = Image.fromarray(GREY).convert("P")
    image.putpalette([9, 9, 9, 0, 0, 0, 0, 200, 0])
    return image


KINDS = {
    "1": lambda: Image.fromarray(GREY > 1),
    "L": lambda: Image.fromarray(GREY),
    "LA": lambda: Image.fromarray(np.dstack([GREY, ALPHA])),
    "P": palette,
    "RGB": lambda: Image.fromarray(COLOURS),
    "RGBA": lambda: Image.fromarray(np.dstack([COLOURS, ALPHA])),
    "I;16": lambda: Image.fromarray(GREY.astype(np.uint16) * 200),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_is_decoded_as_training_decodes_it(kind: str) -> None:
    import tensorflow as tf
    from object_detection.data_decoders.tf_example_decoder import TfExampleDecoder
    from object_detection.protos import input_reader_pb2

    from worker.trainer.evaluation import masks

    buffer = io.BytesIO()
    KINDS[kind]().save(buffer, "PNG")
    assert Image.open(io.BytesIO(buffer.getvalue())).mode == kind
    decoder = TfExampleDecoder(load_instance_masks=True, instance_mask_type=input_reader_pb2.PNG_MASKS)
    of_record: dict[str, Any] = {
        "image/object/mask": tf.sparse.from_dense([buffer.getvalue()]),
        "image/height": tf.constant(20),
        "image/width": tf.constant(30),
    }
    [trained_on] = decoder._decode_png_instance_masks(of_record).numpy()

    found = masks.decode(buffer.getvalue())

    assert 0 < trained_on.sum() < trained_on.size
    assert np.array_equal(found, trained_on > 0)


@pytest.mark.parametrize("width", [1, 8, 30])
def test_the_mask_of_an_imported_picture_is_decoded_as_it_was_drawn(width: int) -> None:
    import tensorflow as tf

    from worker.trainer.evaluation import masks

    drawn = GREY[:, :width] > 1
    png = convert.encode(drawn)

    assert np.array_equal(masks.decode(png), drawn)
    assert np.array_equal(tf.image.decode_image(png, channels=1)[:, :, 0].numpy() > 0, drawn)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), height=st.integers(1, 40), width=st.integers(1, 40))
def test_a_part_is_compressed_as_the_whole_image_would_be(seed: int, height: int, width: int) -> None:
    from worker.trainer.evaluation import masks

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
    from worker.trainer.evaluation import masks

    part, top, left = masks.paste(np.ones((15, 15)), box, 101, 201)

    ymin, xmin, ymax, xmax = np.clip(box, 0, 1) * [100, 200, 100, 200]
    assert (top, left) == (pytest.approx(ymin, abs=1), pytest.approx(xmin, abs=1))
    assert part.shape == (pytest.approx(ymax - ymin + 1, abs=1), pytest.approx(xmax - xmin + 1, abs=1))
    assert part.all()


def test_a_large_mask_is_pasted_in_strips_with_the_same_result() -> None:
    from worker.trainer.evaluation import masks

    mask, box = np.random.default_rng(2).random((33, 33), np.float32), (0.1, -0.2, 0.9, 1.1)
    _, rows = masks._samples(box[0], box[2], 1500, 33)
    _, columns = masks._samples(box[1], box[3], 2000, 33)
    at_once = masks._between(masks._between(mask, rows).T, columns).T > 0.5
    tracemalloc.start()
    try:
        part, _, _ = masks.paste(mask, box, 1500, 2000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert np.array_equal(part, at_once)
    assert peak < 4 * part.nbytes


@pytest.mark.parametrize("box", [(0.5, 0.5, 0.5, 0.9), (0.9, 0.9, 0.2, 0.95), (1.2, 1.2, 1.4, 1.4)])
def test_a_box_that_covers_no_pixel_gives_an_empty_mask(box: tuple[float, float, float, float]) -> None:
    from worker.trainer.evaluation import masks

    part, top, left = masks.paste(np.ones((15, 15)), box, 101, 201)

    assert part.size == 0
    assert rle.area(masks.compress(part, top, left, 101, 201)) == 0
