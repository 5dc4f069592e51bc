"""TensorFlow itself reads the sample dataset. In its own process: importing TensorFlow here would slow every test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from services.datasets import examples, shapes
from services.domain import tfrecord

pytestmark = pytest.mark.tensorflow

READER = """
import json, sys
import tensorflow as tf

keys = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/source_id": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/object/class/label": tf.io.VarLenFeature(tf.int64),
    "image/object/bbox/xmax": tf.io.VarLenFeature(tf.float32),
    "image/object/mask": tf.io.VarLenFeature(tf.string),
}
for payload in tf.data.TFRecordDataset(sys.argv[1:]):
    example = tf.io.parse_single_example(payload, keys)
    masks = [tf.io.decode_png(png, channels=1) for png in example["image/object/mask"].values]
    print(json.dumps({
        "id": example["image/source_id"].numpy().decode(),
        "height": int(example["image/height"]),
        "image": tf.io.decode_jpeg(example["image/encoded"]).shape.as_list(),
        "labels": example["image/object/class/label"].values.numpy().tolist(),
        "xmax": example["image/object/bbox/xmax"].values.numpy().tolist(),
        "mask_areas": [int(tf.reduce_sum(tf.cast(mask, tf.int64))) for mask in masks],
    }))
"""


@pytest.mark.timeout(180)
def test_tensorflow_reads_the_same_examples(tmp_path: Path) -> None:
    dataset = shapes.generate(tmp_path / "shapes", train=5, validation=1, size=(64, 96))
    files = [str(path) for path in dataset.train_files]
    done = subprocess.run([sys.executable, "-c", READER, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]

    read = [json.loads(line) for line in done.stdout.splitlines()]
    ours = [examples.decode(payload) for path in dataset.train_files for payload in tfrecord.read(path)]
    assert read == [
        {
            "id": example["image/source_id"][0].decode(),  # type: ignore[union-attr]
            "height": 64,
            "image": [64, 96, 3],
            "labels": example["image/object/class/label"],
            "xmax": example["image/object/bbox/xmax"],
            "mask_areas": example["image/object/area"],
        }
        for example in ours
    ]
