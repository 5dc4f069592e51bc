"""Decode instance masks at the network's size, one at a time.

The OD API decodes all masks of an image at the size of the photograph, as float32, before it resizes them: 4.8 GB for
100 masks of 12 megapixels, for each image that is decoded at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from object_detection.builders import image_resizer_builder
from object_detection.data_decoders.tf_example_decoder import TfExampleDecoder
from object_detection.utils import config_util

# These change colours, boxes, or the order of rows and columns. Others read pixels of a mask by their place in the
# image, so both must have the same size.
_ANY_SIZE = (
    "normalize_image",
    "random_adjust_brightness",
    "random_adjust_contrast",
    "random_adjust_hue",
    "random_adjust_saturation",
    "random_distort_color",
    "random_horizontal_flip",
    "random_jitter_boxes",
    "random_jpeg_quality",
    "random_pixel_value_scale",
    "random_rgb_to_gray",
    "random_vertical_flip",
    "subtract_channel_mean",
)


def allows(augmentations: Any) -> bool:
    """Whether these `data_augmentation_options` accept masks of another size than their image."""
    return all(option.WhichOneof("preprocessing_step") in _ANY_SIZE for option in augmentations)


@contextmanager
def at_network_size(model_config: Any) -> Iterator[None]:
    """Datasets that the OD API builds inside decode their masks like this.

    The pixels are those that the OD API would choose later. Only after a flip they are, since its resizing is not
    symmetric, up to one pixel of the network's image beside them.
    """
    resize = image_resizer_builder.build(config_util.get_image_resizer_config(model_config))
    stock = TfExampleDecoder._decode_png_instance_masks

    def resized(png: tf.Tensor) -> tf.Tensor:
        mask = tf.image.decode_image(png, channels=1, expand_animations=False)
        size = tf.shape(mask)
        image = tf.zeros([size[0], size[1], 3], tf.uint8)  # only its size counts
        _, masks, shape = resize(image, tf.cast(mask[tf.newaxis, :, :, 0] > 0, tf.uint8))
        return tf.cast(masks[0, : shape[0], : shape[1]], tf.float32)  # without padding: that follows later

    def decode(decoder: Any, tensors: dict[str, Any]) -> tf.Tensor:
        pngs = tensors["image/object/mask"]
        pngs = tf.sparse.to_dense(pngs, default_value="") if isinstance(pngs, tf.SparseTensor) else pngs
        return tf.cond(
            tf.size(pngs) > 0,
            lambda: tf.map_fn(resized, pngs, fn_output_signature=tf.float32, parallel_iterations=1),
            lambda: tf.zeros([0, 1, 1]),
        )

    TfExampleDecoder._decode_png_instance_masks = decode
    try:
        yield
    finally:
        TfExampleDecoder._decode_png_instance_masks = stock
