"""Sizes the input readers to the dataset and the host. The OD API's defaults suit a TPU host that reads COCO."""

from dataclasses import dataclass
from typing import Any

from services.domain.catalogue import ImageSize
from services.domain.pipeline_config.schema.text import Config, copied
from services.domain.pipeline_config.template import MAX_BOXES
from services.domain.plan.input_sizes import InputSizes

_SHUFFLE_SHARE = 0.1  # of host memory; the shuffle buffer holds serialized records
_IMAGES_SHARE = 0.25  # of host memory; decoded, resized and padded images before the device
_LARGEST_SHUFFLE = 10_000  # records; more would only delay the first step
_MOST_READERS = 8
_MOST_PADDING = 1_000  # boxes that an image is padded to at most, where the owner asks for more than any image has
_MB = 1024 * 1024


@dataclass(frozen=True)
class OwnBoxes:
    """The boxes per image in the owner's own configuration."""

    train: int
    evaluation: int
    is_default: bool  # `train` is the schema's default, not the owner's choice


def size_input_readers(
    *,
    records: int,
    record_bytes: int,
    files: int,
    host_memory_mb: int,
    image_size: ImageSize,
    masks: bool,
    batch: int,
    threads: int | None = None,
    most_boxes: int | None = None,
    own_boxes: OwnBoxes | None = None,
) -> InputSizes:
    """Sizes that fit the host. `record_bytes`: the average; `most_boxes`: the most in any image, where known.

    `threads`: the cores for the job, where the host is known: as many images are decoded at once as memory allows.

    No box is cut off to save memory: with crowded images, fewer batches are in flight. `own_boxes` are kept, except
    where they would only pad masks.
    """
    memory = host_memory_mb * _MB
    most = None if most_boxes is None else max(1, most_boxes)
    boxes = most if own_boxes is None else _kept(own_boxes, most, masks)
    images = int(memory * _IMAGES_SHARE / max(1, decoded_bytes(image_size, boxes or MAX_BOXES, masks)))
    batches = images // max(1, batch)
    readers = max(1, min(files, _MOST_READERS))
    return InputSizes(
        shuffle_buffer_size=max(1, min(records, int(memory * _SHUFFLE_SHARE / max(1, record_bytes)), _LARGEST_SHUFFLE)),
        num_readers=readers,
        num_parallel_batches=max(1, min(2, batches // 2)),
        num_prefetch_batches=max(1, min(2, batches // 2)),
        # Few records per turn mix several files; a single file is read in longer blocks.
        read_block_length=32 if readers == 1 else 8,
        max_number_of_boxes=boxes,
        num_parallel_map_calls=None if threads is None else max(1, min(threads, images // 2)),
    )


def _kept(own: OwnBoxes, most: int | None, masks: bool) -> int:
    if most is None or (most > own.train and not own.is_default):
        return own.train
    return most if masks else max(min(own.train, _MOST_PADDING), most)


def evaluated_boxes(most_boxes: int | None, own: OwnBoxes | None, *, masks: bool) -> int | None:
    """Boxes per image that evaluation reads: at least all that there are, because every box counts in the metrics."""
    if most_boxes is None:
        return None
    return max(1, most_boxes, 0 if masks or own is None else min(own.evaluation, _MOST_PADDING))


def own_boxes(config: Config) -> OwnBoxes:
    """The configuration's own values; the reader's comes before that of train_config, as in the OD API."""
    train, written = config.train_input_reader, [config.train_input_reader, config.train_config]
    given = [int(part.max_number_of_boxes) for part in written if part.HasField("max_number_of_boxes")]
    evaluation = config.eval_input_reader[0] if config.eval_input_reader else train
    return OwnBoxes(
        train=given[0] if given else int(train.max_number_of_boxes),
        evaluation=int(evaluation.max_number_of_boxes),
        is_default=not given,
    )


def decoded_bytes(image_size: ImageSize, boxes: int, masks: bool) -> int:
    """The bytes of one example at the end of the input pipeline. Masks are `boxes` whole images of float32."""
    height, width = image_size
    return height * width * 4 * (3 + (boxes if masks else 0))


def input_sizes(config: Config) -> InputSizes:
    """A configuration's own sizes."""
    train = config.train_input_reader
    return InputSizes(
        shuffle_buffer_size=int(train.shuffle_buffer_size),
        num_readers=int(train.num_readers),
        num_parallel_batches=int(train.num_parallel_batches),
        num_prefetch_batches=int(train.num_prefetch_batches),
        read_block_length=int(train.read_block_length),
        max_number_of_boxes=int(train.max_number_of_boxes),
        num_parallel_map_calls=(
            int(train.num_parallel_map_calls) if train.HasField("num_parallel_map_calls") else None
        ),
    )


def set_input_readers(config: Config, sizes: InputSizes, evaluation_boxes: int | None = None) -> Config:
    """A copy whose readers have these sizes. Evaluation reads in order, without a shuffle buffer.

    Ground truth is padded to `max_number_of_boxes`, in evaluation to `evaluation_boxes` where given. Without a number,
    the configuration's stays.
    """
    changed = copied(config)
    train = changed.train_input_reader
    train.shuffle_buffer_size = sizes.shuffle_buffer_size
    train.num_readers = sizes.num_readers
    train.read_block_length = sizes.read_block_length
    if sizes.max_number_of_boxes is not None:
        changed.train_config.max_number_of_boxes = sizes.max_number_of_boxes
    _size_batches(train, sizes, sizes.max_number_of_boxes)
    for reader in changed.eval_input_reader:
        _size_batches(reader, sizes, evaluation_boxes or sizes.max_number_of_boxes)
        reader.num_readers = 1  # more would change the order of the images between evaluations
        reader.num_prefetch_batches = 1
    return changed


def _size_batches(reader: Any, sizes: InputSizes, boxes: int | None) -> None:
    reader.num_parallel_batches = sizes.num_parallel_batches
    reader.num_prefetch_batches = sizes.num_prefetch_batches
    if sizes.num_parallel_map_calls is not None:
        reader.num_parallel_map_calls = sizes.num_parallel_map_calls
    if boxes is not None:
        reader.max_number_of_boxes = boxes
