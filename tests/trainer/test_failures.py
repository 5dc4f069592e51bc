"""Classify exceptions and parse the allocator's log. The texts are shortened from TensorFlow 2.20's."""

import errno

import pytest

from services.domain.contract import EXIT_CODES, AllocatorStats, Reason
from worker.trainer.failures import AttemptEnd, allocator_stats, log_tail, mismatch, read_exception

MESSAGE = """Graph execution error:

Detected at node EfficientNet/stem_bn/FusedBatchNormV3 defined at (most recent call last):
  File "worker/trainer/__main__.py", line 100, in <module>
OOM when allocating tensor with shape[4,64,128,128] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by \
allocator mklcpu
\t [[{{node stack_0/block_0/expand_bn/FusedBatchNormV3}}]]
Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom.
"""
LOG = """2026-11-16 02:01:07.2: W tensorflow/core/framework/bfc_allocator.cc:501] Allocator (mklcpu) ran out of memory \
trying to allocate 1.00MiB (rounded to 1048576)requested by op early
2026-11-16 02:01:07.2: I tensorflow/core/framework/bfc_allocator.cc:1112] Stats: 
Limit:                       314572800
InUse:                       100000000
MaxInUse:                    200000000
2026-11-16 02:01:09.2: W tensorflow/core/framework/bfc_allocator.cc:501] Allocator (mklcpu) ran out of memory \
trying to allocate 16.00MiB (rounded to 16777216)requested by op stack_0/block_0/expand_bn/FusedBatchNormV3
2026-11-16 02:01:09.2: I tensorflow/core/framework/bfc_allocator.cc:1112] Stats: 
Limit:                       314572800
InUse:                       309012224
MaxInUse:                    311012224
NumAllocs:                        8213
"""
GRAPH = """Graph execution error:

Detected at node model/conv1/Conv2D defined at (most recent call last):
  File "worker/trainer/__main__.py", line 100, in <module>
"""
ALGORITHM = (
    f"{GRAPH}No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine 1#TC: RESOURCE_EXHAUSTED: "
    "Out of memory while trying to allocate 2147483648 bytes.\n\t [[{{node model/conv1/Conv2D}}]]"
)
XLA = f"{GRAPH}Out of memory while trying to allocate 8589934592 bytes.\n\t [[{{{{node StatefulPartitionedCall}}}}]]"
REQUEST = "INTERNAL: Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0"
SET_DEVICE = "INTERNAL: cudaSetDevice() on GPU:0 failed. Status: out of memory"
ILLEGAL = "INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
COUNTERS = AllocatorStats(limit=1, in_use=2, peak=3)


class ResourceExhaustedError(Exception):
    """Exceptions are recognised by their class names, so these tests need no TensorFlow."""


class NotFoundError(Exception):
    pass


class InternalError(Exception):
    pass


class UnimplementedError(Exception):
    pass


class DataLossError(Exception):
    pass


class InvalidArgumentError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (ResourceExhaustedError(MESSAGE), Reason.DEVICE_MEMORY, "shape[4,64,128,128]"),
        (ResourceExhaustedError("ckpt-5.data; No space left on device"), Reason.DISK_FULL, "disk"),
        (InternalError(f"{GRAPH}{ILLEGAL}"), Reason.BAD_DEVICE, "the device failed: INTERNAL: CUDA_ERROR_ILLEGAL"),
        (InternalError("cudaSetDevice() on GPU:0 failed. Status: invalid device"), Reason.BAD_DEVICE, "the device"),
        (OSError(errno.ENOSPC, "No space left on device"), Reason.DISK_FULL, "disk"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), Reason.DISK_FULL, "disk"),
        (ResourceExhaustedError("ckpt-5.data; Disk quota exceeded"), Reason.DISK_FULL, "disk"),
        (ResourceExhaustedError("a.record; Too many open files"), Reason.ERROR, "Too many open files"),
        (ResourceExhaustedError("Received message larger than max (5 vs. 4)"), Reason.ERROR, "larger than max"),
        (ResourceExhaustedError("a spelling of the next version"), Reason.DEVICE_MEMORY, "next version"),
        (ResourceExhaustedError(XLA), Reason.DEVICE_MEMORY, "Out of memory while trying to allocate 8589934592 bytes"),
        (NotFoundError(ALGORITHM), Reason.DEVICE_MEMORY, "Profiling failure on CUDNN engine"),
        (RuntimeError(REQUEST), Reason.DEVICE_MEMORY, "Failed to allocate request for 2.00GiB"),
        (RuntimeError(SET_DEVICE), Reason.DEVICE_MEMORY, "cudaSetDevice() on GPU:0 failed"),
        (InternalError(GRAPH + "something new\n"), Reason.ERROR, "InternalError: something new"),
        (UnimplementedError(GRAPH + "DNN library is not found.\n"), Reason.ERROR, "DNN library is not found."),
        (ResourceExhaustedError("OOM when allocating tensor … by allocator cpu"), Reason.HOST_MEMORY, "host"),
        (ResourceExhaustedError("OOM when allocating tensor … by allocator GPU_0_bfc"), Reason.DEVICE_MEMORY, "GPU_0"),
        (RuntimeError("Dst tensor is not initialized."), Reason.DEVICE_MEMORY, "Dst tensor"),
        (RuntimeError("CUDNN_STATUS_ALLOC_FAILED"), Reason.DEVICE_MEMORY, "CUDNN"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), Reason.HOST_MEMORY, "host"),
        (MemoryError(), Reason.HOST_MEMORY, "host"),
        (RuntimeError("std::bad_alloc"), Reason.HOST_MEMORY, "host"),
        (DataLossError("corrupted record at 12"), Reason.BAD_DATASET, "corrupted record at 12"),
        (InvalidArgumentError("Trying to decode JPEG: bad"), Reason.BAD_DATASET, "cannot be decoded"),
        (InvalidArgumentError("shapes do not match"), Reason.ERROR, "InvalidArgumentError: shapes do not match"),
        (ZeroDivisionError("division by zero"), Reason.ERROR, "ZeroDivisionError: division by zero"),
    ],
)
def test_an_exception_is_classified_by_its_reason(error: Exception, reason: Reason, words: str) -> None:
    ending = read_exception(error)

    assert ending.reason is reason
    assert words in ending.message
    assert "\n" not in ending.message
    assert ending.__cause__ is error


def test_an_ending_is_returned_unchanged() -> None:
    ending = AttemptEnd(Reason.NAN_LOSS, "became nan")

    assert read_exception(ending) is ending


def test_the_last_failed_request_counts() -> None:
    stats = allocator_stats(MESSAGE, LOG, COUNTERS)

    assert stats.limit == 314572800
    assert stats.in_use == 309012224
    assert stats.peak == 311012224
    assert stats.requested == 16777216
    assert stats.requested_shape == "[4,64,128,128] float"
    assert stats.requested_op == "stack_0/block_0/expand_bn/FusedBatchNormV3"
    assert stats.allocator == "mklcpu"


def test_without_a_dump_the_exception_and_the_counters_are_used() -> None:
    stats = allocator_stats(MESSAGE, "", COUNTERS)

    assert (stats.limit, stats.in_use, stats.peak) == (1, None, 3)
    assert stats.requested is None
    assert stats.requested_op == "stack_0/block_0/expand_bn/FusedBatchNormV3"
    assert stats.allocator == "mklcpu"


def test_only_the_end_of_a_long_log_is_read(tmp_path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"x" * 6 * 2**20 + b"\xffthe end")

    tail = log_tail(path)

    assert tail.endswith("the end")
    assert len(tail) <= 4 * 2**20


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            AssertionError("Found 424 Python objects … Showing 10: [<tf.Variable 'Adam/head/bias/v:0' shape=(4,)>, …]"),
            "424 variables of this attempt are missing from it, for example Adam/head/bias/v:0",
        ),
        (ValueError("Received incompatible tensor\nwith shape (4,)"), "Received incompatible tensor with shape (4,)"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_a_mismatch_is_summarised_in_one_line(error: Exception, line: str) -> None:
    assert mismatch(error) == line


def test_every_reason_has_an_exit_status_of_its_own() -> None:
    assert set(EXIT_CODES) == set(Reason)
    assert len(set(EXIT_CODES.values())) == len(Reason)
