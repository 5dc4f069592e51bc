"""How an attempt ended, for every reason and exit status."""

import signal

import pytest

from services.domain.contract import EXIT_CODES, Outcome, Reason
from services.domain.diagnosis.ending import Diagnosis, read_ending

STATUSES = [None, *sorted(set(EXIT_CODES.values())), 2, 77, 127, *(-number for number in (1, 2, 6, 9, 11, 15, 64))]
OUTCOMES = [None, *(Outcome(reason=reason, message=f"said {reason}") for reason in Reason)]
LOGS = ["", "OOM when allocating tensor", "std::bad_alloc", "No space left on device"]


@pytest.mark.parametrize("exit_status", STATUSES)
@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome and str(outcome.reason))
def test_every_end_has_one_diagnosis_and_success_needs_outcome_and_status(
    exit_status: int | None, outcome: Outcome | None
) -> None:
    for log in LOGS:
        ending = read_ending(exit_status, outcome, [log.encode()])
        succeeded = outcome is not None and outcome.reason is Reason.COMPLETED and exit_status == 0
        assert (ending.diagnosis is Diagnosis.COMPLETED) == succeeded
        assert ending.message


@pytest.mark.parametrize("reason", set(Reason) - {Reason.COMPLETED})
@pytest.mark.parametrize("exit_status", [None, -signal.SIGKILL, -signal.SIGSEGV, 1])
def test_a_reported_failure_is_believed_with_any_exit_status(reason: Reason, exit_status: int | None) -> None:
    ending = read_ending(exit_status, Outcome(reason=reason, message="as written"))
    assert (ending.reason, ending.message) == (reason, "as written")


@pytest.mark.parametrize("exit_status", [None, -signal.SIGKILL, 1, 20])
def test_a_reported_success_with_another_exit_status_is_no_success(exit_status: int | None) -> None:
    ending = read_ending(exit_status, Outcome(reason=Reason.COMPLETED, message="done"))
    assert ending.diagnosis is not Diagnosis.COMPLETED


@pytest.mark.parametrize("exit_status", STATUSES)
@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome and str(outcome.reason))
def test_complete_files_replace_a_lost_exit_status_and_no_other(
    exit_status: int | None, outcome: Outcome | None
) -> None:
    ending = read_ending(exit_status, outcome, is_whole=True)
    completed = outcome is not None and outcome.reason is Reason.COMPLETED
    assert (ending.diagnosis is Diagnosis.COMPLETED) == (completed and exit_status in (None, 0))


def test_an_exit_status_of_0_without_an_outcome_is_a_bug() -> None:
    assert read_ending(0, None).diagnosis is Diagnosis.BUG


def test_an_outcome_of_failure_with_an_exit_status_of_0_is_a_bug_that_names_both() -> None:
    ending = read_ending(0, Outcome(reason=Reason.DEVICE_MEMORY, message="ran out"))
    assert ending.diagnosis is Diagnosis.BUG
    assert "device_memory" in ending.message
    assert "exit status 0" in ending.message


@pytest.mark.parametrize(
    ("reason", "diagnosis"),
    [
        (Reason.DISK_FULL, Diagnosis.DISK),  # a full disk has no room for an outcome
        (Reason.DEVICE_MEMORY, Diagnosis.TOO_LARGE),
        (Reason.HOST_MEMORY, Diagnosis.HOST),
        (Reason.STOPPED, Diagnosis.INTERRUPTED),
        (Reason.BAD_DATASET, Diagnosis.BUG),
    ],
)
def test_without_an_outcome_the_exit_status_decides(reason: Reason, diagnosis: Diagnosis) -> None:
    ending = read_ending(EXIT_CODES[reason], None)
    assert (ending.diagnosis, ending.reason) == (diagnosis, reason)


@pytest.mark.parametrize(
    ("line", "diagnosis"),
    [
        ("Resource exhausted: OOM when allocating tensor with shape[8,64]", Diagnosis.TOO_LARGE),
        ("RESOURCE_EXHAUSTED: OOM when allocating tensor", Diagnosis.TOO_LARGE),
        ("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB", Diagnosis.TOO_LARGE),
        ("failed: CUDNN_STATUS_ALLOC_FAILED", Diagnosis.TOO_LARGE),
        ("CUBLAS_STATUS_ALLOC_FAILED", Diagnosis.TOO_LARGE),
        ("Internal: Dst tensor is not initialized.", Diagnosis.TOO_LARGE),
        ("cuMemAllocAsync failed to allocate 1024 bytes", Diagnosis.TOO_LARGE),
        ("terminate called after throwing an instance of 'std::bad_alloc'", Diagnosis.HOST),
        ("OSError: [Errno 12] Cannot allocate memory", Diagnosis.HOST),
        ("MemoryError", Diagnosis.HOST),
        ("OSError: [Errno 28] No space left on device", Diagnosis.DISK),
    ],
)
@pytest.mark.parametrize("exit_status", [1, -signal.SIGABRT, -signal.SIGKILL])
def test_a_death_without_an_outcome_is_read_from_the_log(line: str, diagnosis: Diagnosis, exit_status: int) -> None:
    assert read_ending(exit_status, None, [f"step 1\n{line}\n".encode()]).diagnosis is diagnosis


FAULTS = [
    "Error polling for event status: failed to query event: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
    "encountered",
    "could not synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
    "INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
    "CUDA error: no kernel image is available for execution on the device: CUDA_ERROR_NO_BINARY_FOR_GPU",
    "failed to load PTX text as a module: CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed",
    "InternalError: CUDA runtime implicit initialization on GPU:0 failed. Status: device kernel image is invalid",
    "InternalError: cudaSetDevice() on GPU:0 failed. Status: CUDA-capable device(s) is/are busy or unavailable",
    "InternalError: cudaGetDevice() failed. Status: system not yet initialized",
    "InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version",
    "[12345.678901] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.",
]


@pytest.mark.parametrize("line", FAULTS)
@pytest.mark.parametrize("exit_status", [1, -signal.SIGABRT, -signal.SIGSEGV])
def test_a_failure_of_the_device_is_neither_a_bug_nor_a_lack_of_memory(line: str, exit_status: int) -> None:
    log = f"step 1\n{line}\nUnexpected Event status: 1\nAborted (core dumped)\n"
    ending = read_ending(exit_status, None, [log.encode()])
    assert ending.diagnosis is Diagnosis.DEVICE
    assert line[:60] in ending.message


@pytest.mark.parametrize("line", FAULTS)
def test_where_the_trainer_reports_an_error_the_log_may_blame_the_device(line: str) -> None:
    said = Outcome(reason=Reason.ERROR, message="InternalError: Failed to copy")
    assert read_ending(1, said, [f"step 1\n{line}\n".encode()]).diagnosis is Diagnosis.DEVICE


@pytest.mark.parametrize("line", FAULTS)
def test_a_fault_after_memory_ran_out_is_its_consequence(line: str) -> None:
    log = f"RESOURCE_EXHAUSTED: OOM when allocating tensor\n{line}\n"
    assert read_ending(-signal.SIGABRT, None, [log.encode()]).diagnosis is Diagnosis.TOO_LARGE


def test_memory_that_cannot_be_had_after_a_fault_is_its_consequence() -> None:
    log = f"{FAULTS[0]}\nRESOURCE_EXHAUSTED: OOM when allocating tensor\n"
    assert read_ending(-signal.SIGABRT, None, [log.encode()]).diagnosis is Diagnosis.DEVICE


def test_a_training_on_the_cpu_that_finds_no_gpu_is_not_ended_by_it() -> None:
    log = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\nValueError: bad\n"
    assert read_ending(1, None, [log.encode()]).diagnosis is Diagnosis.BUG


def test_a_device_that_tensorflow_cannot_use_is_blamed() -> None:
    said = Outcome(reason=Reason.BAD_DEVICE, message="TensorFlow sees 0 GPU(s)")
    assert read_ending(34, said).diagnosis is Diagnosis.DEVICE
    assert read_ending(34, None).diagnosis is Diagnosis.DEVICE


HARMLESS = [
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB. The caller indicates that this is not a "
    "failure, but this may mean that there could be performance gains if more memory were available.",
    "failed to allocate 9.50G (10200547328 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "Allocation of 154140672 exceeds 10% of free system memory.",
    "Garbage collection: deallocate free memory regions (i.e., allocations) so that we can re-allocate",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_lines_that_look_fatal_and_are_not_explain_no_crash(line: str) -> None:
    assert read_ending(-signal.SIGSEGV, None, [line.encode()]).diagnosis is Diagnosis.BUG
    assert read_ending(-signal.SIGKILL, None, [line.encode()]).diagnosis is Diagnosis.UNKNOWN_KILL
    done = Outcome(reason=Reason.COMPLETED, message="done")
    assert read_ending(0, done, [line.encode()]).diagnosis is Diagnosis.COMPLETED


def test_a_harmless_line_does_not_hide_a_fatal_one() -> None:
    log = "\n".join([*HARMLESS, "RESOURCE_EXHAUSTED: OOM when allocating tensor", HARMLESS[0]])
    assert read_ending(1, None, [log.encode()]).diagnosis is Diagnosis.TOO_LARGE
