"""The largest input that training can get: images without padding, and as many boxes as the pipeline allows.

Import this module only after `compat.install()`.
"""

import tensorflow as tf
from object_detection.core.standard_fields import InputDataFields as Fields

Batch = tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]


def endless(batch: Batch) -> tf.data.Iterator:
    """Repeat `batch`, made the worst case. Types and shapes stay, so a step traced for `batch` accepts it."""
    features, labels = batch
    images, boxes = features[Fields.image], labels[Fields.groundtruth_boxes]
    count, most = boxes.shape[:2]
    features = {**features, Fields.true_image_shape: tf.constant([images.shape[1:]] * count, tf.int32)}
    # Repeat each image's own boxes with their labels; an image without boxes repeats its padding.
    own = tf.maximum(tf.cast(labels[Fields.num_groundtruth_boxes], tf.int32), 1)
    which = tf.range(most)[tf.newaxis] % own[:, tf.newaxis]
    of_boxes = {key: value for key, value in labels.items() if value.shape[1:2] == [most]}
    labels = labels | {key: tf.gather(value, which, batch_dims=1) for key, value in of_boxes.items()}
    labels[Fields.num_groundtruth_boxes] = tf.fill([count], tf.cast(most, labels[Fields.num_groundtruth_boxes].dtype))
    return iter(tf.data.Dataset.from_tensors((features, labels)).repeat())
