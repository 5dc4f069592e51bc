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
