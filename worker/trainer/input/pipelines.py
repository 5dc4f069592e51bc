"""Build the OD API's input pipelines, and check the first examples of a dataset."""

import copy
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from object_detection import inputs
from object_detection.builders import dataset_builder

from services.domain.contract import Reason
from worker.trainer.failures import AttemptEnd
from worker.trainer.input import mask_decoding
from worker.trainer.preflight import class_ids, classes_of, record_files

EXAMPLES_CHECKED = 1000  # of each split: takes about a second, and finds a systematic mistake

# The OD API's input functions are pure graph code. AutoGraph would change no operation in them, and took most of the
# time to build a pipeline.
_train_input = tf.autograph.experimental.do_not_convert(inputs.train_input)
_eval_input = tf.autograph.experimental.do_not_convert(inputs.eval_input)


@dataclass(frozen=True)
class Feed:
    """How a GPU gets its images: `threads` decode, whatever the micro-batch, and the next batch waits on `device`.

    A CPU slot has no feed. Its step computes on the cores that decode, so more threads would gain nothing; and its
    images lie in the allocator that the memory law was fitted on, so fewer or more of them would change what it says.
    """

    threads: int
    device: str | None = None  # TensorFlow's name; None: batches stay in host memory

    def calls(self, reader: Any) -> int:
        """Images decoded at once. The reader bounds them where the host is short of memory."""
        return max(1, min(self.threads, int(reader.num_parallel_map_calls)))


def training(config: Any, model: Any, micro_batch: int, feed: Feed | None = None) -> tf.data.Dataset:
    """An endless dataset of (features, labels) with `micro_batch` images each.

    Without a feed, the OD API decodes `micro_batch` × `num_parallel_batches` images at once, on the threads of the
    step.
    """
    reader = config.train_input_reader
    if feed is None:
        return _train_images(config, reader, model, micro_batch).repeat()
    single = copy.deepcopy(reader)
    single.num_parallel_map_calls = feed.calls(reader)  # the OD API uses it where it does not batch
    single.num_prefetch_batches = 0  # the prefetch below counts batches; this one would count images
    images = _train_images(config, single, model, None).repeat()
    batches = images.batch(micro_batch, drop_remainder=reader.drop_remainder).prefetch(reader.num_prefetch_batches)
    return _fed(batches, feed)


def _train_images(config: Any, reader: Any, model: Any, batch: int | None) -> tf.data.Dataset:
    augmentations = config.train_config.data_augmentation_options
    with mask_decoding.at_network_size(config.model) if mask_decoding.allows(augmentations) else nullcontext():
        return _train_input(config.train_config, reader, config.model, model=model, params={"batch_size": batch})


def _fed(batches: tf.data.Dataset, feed: Feed) -> tf.data.Dataset:
    options = tf.data.Options()
    options.threading.private_threadpool_size = feed.threads
    options.threading.max_intra_op_parallelism = 1  # the images are the parallel work
    batches = batches.with_options(options)
    if feed.device is None:
        return batches
    return batches.apply(tf.data.experimental.prefetch_to_device(feed.device, buffer_size=1))


def evaluation(config: Any, model: Any, feed: Feed | None = None) -> tf.data.Dataset:
    """Each validation image once, in a fixed order: its record as stored, and (features, labels).

    The batch size is 1 whatever the config says: images of different sizes cannot be batched, and an incomplete last
    batch would be dropped. `retain_original_images` is off: the OD API's "originals" have the network's image size.
    """
    reader = copy.deepcopy(config.eval_input_reader[0])
    reader.shuffle = False
    reader.num_readers = 1
    reader.num_epochs = 1
    reader.ClearField("sample_from_datasets_weights")  # would sample at random, endlessly
    if feed is not None:
        reader.num_parallel_batches = feed.calls(reader)  # batches of one image
    eval_config = copy.deepcopy(config.eval_config)
    eval_config.retain_original_images = False
    eval_config.force_no_resize = False  # would remove the resizer from `config`, and so from the export
    with mask_decoding.at_network_size(config.model):
        examples = _eval_input(eval_config, reader, config.model, model=model, params={"batch_size": 1})
    records = dataset_builder.read_dataset(
        tf.data.TFRecordDataset, reader.tf_record_input_reader.input_path[:], reader
    ).shard(max(1, reader.sample_1_of_n_examples), 0)
    return tf.data.Dataset.zip((records, examples))


def check_examples(config: Any) -> None:
    """Raise an AttemptEnd unless the first examples of each split have an image, known classes, and masks if needed.

    The OD API would train all the same: it drops boxes of unknown classes and replaces missing masks by empty ones.
    """
    readers = {"train_input_reader": config.train_input_reader}
    readers |= {f"eval_input_reader[{n}]": reader for n, reader in enumerate(config.eval_input_reader)}
    for name, reader in readers.items():
        names = class_ids(name, reader).keys()
        records = tf.data.TFRecordDataset(record_files(reader)).take(EXAMPLES_CHECKED)
        for number, record in enumerate(records):
            problem = _problem_of(record.numpy(), names, classes_of(config), reader.load_instance_masks)
            if problem:
                raise AttemptEnd(Reason.BAD_DATASET, f"{name}: record {number}: {problem}")


def _problem_of(record: bytes, names: Collection[str], num_classes: int, needs_masks: bool) -> str | None:
    try:
        features = tf.train.Example.FromString(record).features.feature
    except Exception as error:  # the class of DecodeError depends on protobuf's runtime
        return f"is not a tf.train.Example ({error})"
    if not features["image/encoded"].bytes_list.value:
        return "has no image (image/encoded)"
    # As in the OD API: names are looked up in the label map; numbers count only where there are no names.
    texts = [text.decode(errors="replace") for text in features["image/object/class/text"].bytes_list.value]
    labels = features["image/object/class/label"].int64_list.value
    unknown = [text for text in texts if text not in names]
    if unknown:
        return f"has class {unknown[0]!r} (image/object/class/text), which the label map does not name"
    wrong = [label for label in labels if not 1 <= label <= num_classes]
    if wrong and not texts:
        return f"has class {wrong[0]} (image/object/class/label), but the classes are 1 to {num_classes}"
    boxes = len(features["image/object/bbox/xmin"].float_list.value)
    if len(texts or labels) != boxes:
        return f"has {boxes} boxes and {len(texts or labels)} classes"
    masks = len(features["image/object/mask"].bytes_list.value)
    if needs_masks and masks != boxes:
        return f"has {boxes} boxes and {masks} masks (image/object/mask)"
    return None
