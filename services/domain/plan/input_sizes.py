"""The sizes of an input pipeline: what decides how much host memory it takes."""

from dataclasses import dataclass

__all__ = ["InputSizes"]


@dataclass(frozen=True)
class InputSizes:
    """Named as the fields of `train_input_reader` in a pipeline.config."""

    shuffle_buffer_size: int  # records
    num_readers: int
    num_parallel_batches: int
    num_prefetch_batches: int
    read_block_length: int
    max_number_of_boxes: int | None  # of ground truth kept per image; None: what the configuration has
    num_parallel_map_calls: int | None = None  # images decoded at once; None: as many as the trainer has cores
