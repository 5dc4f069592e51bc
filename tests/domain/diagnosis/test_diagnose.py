"""Why a training ended: from logs alone, and with measurements."""

import signal
from dataclasses import replace

import pytest

from benchmarks.gpu_plans import CARDS, DESKTOPS, Card
from services.domain.contract import AllocatorStats, DeviceKind, Outcome, Reason
from services.domain.diagnosis.case import Case, Diagnosis
from services.domain.diagnosis.diagnose import diagnose, how_it_ended, signal_of
from services.domain.diagnosis.growth import Sample
from tests.support.oom_logs import LABELLED, LOGS, Labelled

MB = 2**20
GB = 2**30


@pytest.mark.parametrize("labelled", LABELLED, ids=lambda one: one.file)
def test_a_log_and_an_exit_status_are_enough(labelled: Labelled) -> None:
    found = diagnose(Case(labelled.exit, [labelled.log]))
    assert (found.diagnosis or "none") == labelled.diagnosis, labelled.why
    lines = labelled.log.decode().splitlines()
    for evidence in found.evidence:
        assert lines[evidence.line - 1].strip().startswith(evidence.text.rstrip("…"))


OF_DEVICE = ("too_large", "neighbour", "fragmentation")
BY_HINTS = "nothing-left-at-start.log"  # no line states the end: not enough against an exception


@pytest.mark.parametrize(
    "labelled",
    [one for one in LABELLED if one.diagnosis in OF_DEVICE and one.file != BY_HINTS],
    ids=lambda one: one.file,
)
def test_where_the_trainer_says_error_the_log_decides(labelled: Labelled) -> None:
    outcome = Outcome(reason=Reason.ERROR, message="NotFoundError: something failed", step=3)
    found = diagnose(Case(1, [labelled.log], outcome, reason=Reason.ERROR))
    assert found.diagnosis == labelled.diagnosis, labelled.why
    assert found.evidence


def test_every_log_is_labelled_and_every_diagnosis_that_a_log_can_show_is_there() -> None:
    assert {one.file for one in LABELLED} == {path.name for path in LOGS.glob("*.log")}
    not_by_log = {Diagnosis.COMPLETED, Diagnosis.LEAK, Diagnosis.SPIKE}
    assert {one.diagnosis for one in LABELLED} == {*map(str, set(Diagnosis) - not_by_log), "none"}


@pytest.mark.parametrize("labelled", LABELLED, ids=lambda one: one.file)
def test_no_log_turns_a_success_into_a_failure(labelled: Labelled) -> None:
    assert diagnose(Case(0, [labelled.log])).diagnosis is None


@pytest.mark.parametrize("labelled", [one for one in LABELLED if one.diagnosis not in ("none", "bug", "unknown_kill")])
def test_a_finding_shows_its_evidence(labelled: Labelled) -> None:
    assert diagnose(Case(labelled.exit, [labelled.log])).evidence


def test_the_allocators_dump_is_read_into_numbers() -> None:
    numbers = diagnose(Case(1, [(LOGS / "in-pieces.log").read_bytes()])).numbers
    assert (numbers.limit, numbers.in_use, numbers.peak) == (40231108608, 31785630720, 39000000000)
    assert (numbers.requested, numbers.free, numbers.largest_free) == (3300000000, 8445477888, 1200000000)
    assert (numbers.op, numbers.allocator, numbers.device) == ("model/conv/Conv2D", "GPU_0_bfc", "GPU:0")
    assert (numbers.shape, numbers.dtype) == ("[64,256,100,100]", "float")


# Exit statuses


@pytest.mark.parametrize(
    ("status", "number"), [(-9, 9), (137, 9), (134, 6), (143, 15), (1, None), (128, None), (251, None)]
)
def test_shells_and_python_spell_signals_differently(status: int, number: int | None) -> None:
    assert signal_of(status) == number


def test_the_kind_of_end_is_named() -> None:
    assert how_it_ended(137) == how_it_ended(-9) == "by SIGKILL"
    assert how_it_ended(3) == "with exit status 3"
    assert how_it_ended(-64) == "by SIGRTMAX"
    assert how_it_ended(None) == "with an unknown exit status"


def test_without_an_exit_status_a_failure_that_was_not_survived_still_counts() -> None:
    log = b"ResourceExhaustedError: OOM when allocating tensor with shape[8] on /device:GPU:0 by allocator GPU_0_bfc\n"
    assert diagnose(Case(None, [log])).diagnosis is Diagnosis.TOO_LARGE
    assert diagnose(Case(None, [log + b"retrying with batch 4\n"])).diagnosis is Diagnosis.UNKNOWN_KILL
    assert diagnose(Case(None, [])).diagnosis is Diagnosis.UNKNOWN_KILL


@pytest.mark.parametrize(("status", "diagnosis"), [(20, "too_large"), (21, "host"), (22, "disk"), (10, "interrupted")])
def test_without_a_hint_in_the_log_the_exit_status_decides(status: int, diagnosis: str) -> None:
    assert diagnose(Case(status, [b"step 1\n"])).diagnosis == diagnosis


# What was measured

RAN_OUT = [
    b"ResourceExhaustedError: OOM when allocating tensor with shape[8] on /device:GPU:0 by allocator GPU_0_bfc\n"
]


def reported(in_use: int, requested: int, limit: int = 10 * GB) -> Outcome:
    stats = AllocatorStats(limit=limit, in_use=in_use, peak=in_use, requested=requested, allocator="GPU_0_bfc")
    return Outcome(Reason.DEVICE_MEMORY, "ran out", allocator=stats)


def test_a_neighbour_is_a_process_that_holds_the_missing_memory() -> None:
    outcome = reported(in_use=2 * GB, requested=100 * MB)
    case = Case(20, outcome=outcome, limit=10 * GB, free_at_claim=10 * GB, held_by_others=8 * GB)
    found = diagnose(case)
    assert found.diagnosis is Diagnosis.NEIGHBOUR
    assert "8192 MB" in found.why


def test_a_small_neighbour_of_a_job_that_is_too_large_is_not_to_blame() -> None:
    outcome = reported(in_use=int(9.5 * GB), requested=1 * GB)
    case = Case(20, outcome=outcome, limit=10 * GB, free_at_claim=10 * GB, held_by_others=200 * MB)
    assert diagnose(case).diagnosis is Diagnosis.TOO_LARGE


def test_others_on_the_device_do_not_explain_a_bug() -> None:
    log = [b"Traceback (most recent call last):\nKeyError: 'boxes'\n"]
    assert diagnose(Case(1, log, held_by_others=8 * GB, free_at_claim=10 * GB)).diagnosis is Diagnosis.BUG


def test_free_memory_that_cannot_be_used_is_fragmented() -> None:
    assert diagnose(Case(20, outcome=reported(7 * GB, 1 * GB))).diagnosis is Diagnosis.FRAGMENTATION
    assert diagnose(Case(20, outcome=reported(int(9.8 * GB), 150 * MB))).diagnosis is Diagnosis.TOO_LARGE
    assert diagnose(Case(20, outcome=reported(7 * GB, 4 * GB))).diagnosis is Diagnosis.TOO_LARGE


def steps(first: int, per_step: float, count: int = 100) -> list[Sample]:
    noise = [0, 3, -2, 1, -3]
    return [Sample(step, int(first + per_step * step) + noise[step % 5] * MB) for step in range(count)]


def test_a_leak_is_growth_from_step_to_step_and_states_its_slope() -> None:
    found = diagnose(Case(20, RAN_OUT, reported(int(9.9 * GB), 500 * MB), steps(4 * GB, 50 * MB, 110)))
    assert found.diagnosis is Diagnosis.LEAK
    assert found.growth is not None
    assert found.growth.bytes_per_step == pytest.approx(50 * MB, rel=0.01)
    assert "50 MB a step" in found.why


def test_a_late_failure_without_growth_is_one_larger_batch() -> None:
    found = diagnose(Case(20, RAN_OUT, reported(int(9.9 * GB), 500 * MB), steps(4 * GB, 0)))
    assert found.diagnosis is Diagnosis.SPIKE


def test_an_early_failure_is_neither_leak_nor_spike() -> None:
    found = diagnose(Case(20, RAN_OUT, reported(int(9.9 * GB), 500 * MB), steps(4 * GB, 0, count=12)))
    assert found.diagnosis is Diagnosis.TOO_LARGE


def test_a_few_odd_samples_make_no_leak() -> None:
    samples = steps(4 * GB, 0)
    samples[70] = Sample(70, 9 * GB)
    samples[99] = Sample(99, 9 * GB)
    assert diagnose(Case(20, RAN_OUT, reported(int(9.9 * GB), GB), samples)).diagnosis is Diagnosis.SPIKE


@pytest.mark.parametrize("status", [-signal.SIGKILL, 137])
def test_a_kill_that_the_cgroup_counted_is_the_hosts_memory(status: int) -> None:
    log = [b"step 1 loss=0.5\n"]
    assert diagnose(Case(status, log, cgroup_oom_kills=1)).diagnosis is Diagnosis.HOST
    assert diagnose(Case(status, log, cgroup_oom_kills=0)).diagnosis is Diagnosis.UNKNOWN_KILL


def test_the_slots_allocator_is_the_device_on_a_cpu_and_the_host_beside_a_gpu() -> None:
    log = [b"OOM when allocating tensor with shape[8] on /device:CPU:0 by allocator bfc_cpu_allocator_for_gpu\n"]
    assert diagnose(Case(1, log, device_kind=DeviceKind.CPU)).diagnosis is Diagnosis.TOO_LARGE
    assert diagnose(Case(1, log)).diagnosis is Diagnosis.TOO_LARGE
    assert diagnose(Case(1, log, device_kind=DeviceKind.GPU)).diagnosis is Diagnosis.HOST


STEPS = "INFO:tensorflow:Step 100 per-step time 0.30s loss=0.8\n" * 3
SPELLINGS = [
    ("host", 137, "[99.1] Out of memory: Killed process 4242 (python) total-vm:33333kB, anon-rss:22222kB"),
    ("host", 137, "kernel: Killed process 4242 (python), UID 0, total-vm:33333kB, anon-rss:22222kB"),
    ("host", 137, "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/docker/a,task_memcg=/docker/a,task=python,pid=42"),
    ("host", 137, '"State": {"Status": "exited", "OOMKilled": true, "ExitCode": 137}'),
    ("unknown_kill", 137, '"State": {"Status": "exited", "OOMKilled": false, "ExitCode": 137}'),
    ("host", 137, "oom 1\noom_kill 1"),
    ("unknown_kill", 137, "oom 0\noom_kill 0"),
    ("host", 1, "libgomp: Out of memory allocating 1234 bytes"),
    ("host", 1, "pyarrow.lib.ArrowMemoryError: malloc of size 1073741824 failed"),
    (
        "host",
        1,
        "cv2.error: OpenCV(4.5.1) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 12288 bytes",
    ),
    ("host", 1, "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node box is used"),
    ("host", 1, "# There is insufficient memory for the Java Runtime Environment to continue."),
    ("too_large", 1, "XlaRuntimeError: INTERNAL: Failed to allocate 1073741824 bytes for new constant"),
    ("too_large", 1, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5520758552 bytes."),
    ("bug", 1, "OSError: inotify_add_watch failed: No space left on device"),
    ("bug", 1, "ResourceExhaustedError: Received message larger than max (5000000 vs. 4194304)"),
]


@pytest.mark.parametrize(("diagnosis", "status", "line"), SPELLINGS)
def test_messages_of_other_programs_are_known(diagnosis: str, status: int, line: str) -> None:
    assert diagnose(Case(status, [f"{STEPS}{line}\n".encode()])).diagnosis == diagnosis


def test_a_kill_while_the_shuffle_buffer_fills_is_the_hosts_memory_and_one_after_training_is_not() -> None:
    filling = b"I shuffle_dataset_op.cc:145] Filling up shuffle buffer (this may take a while): 1858 of 2048\n"
    assert diagnose(Case(137, [filling, b"Killed\n"])).diagnosis is Diagnosis.HOST
    trained = [filling, STEPS.encode() * 3, b"Killed\n"]
    assert diagnose(Case(137, trained)).diagnosis is Diagnosis.UNKNOWN_KILL


def test_the_peak_of_an_asynchronous_pool_is_the_jobs_own_memory() -> None:
    """CUDA's pool returns nothing to the device, so memory up to the peak is not a neighbour's."""
    log = (
        "gpu_async_0 cuMemAllocAsync failed to allocate 696254464 bytes: CUDA error: out of memory\n"
        " Reported by CUDA: Free memory/Total memory: 216072192/4235001856\n"
        "Stats: Limit:   3187671040\nInUse:   2537565100\nMaxInUse:   {peak}\n"
        "ResourceExhaustedError: OOM when allocating tensor with shape[8] on /device:GPU:0 by allocator gpu_async_0\n"
    )
    assert diagnose(Case(1, [log.format(peak=3101698732).encode()])).diagnosis is Diagnosis.TOO_LARGE
    assert diagnose(Case(1, [log.format(peak=2537565100).encode()])).diagnosis is Diagnosis.NEIGHBOUR


def test_a_request_within_the_slots_limit_that_fails_is_the_hosts_memory() -> None:
    log = (
        "Allocator (bfc_cpu_allocator_for_gpu) ran out of memory trying to allocate 64.00MiB (rounded to 67108864)\n"
        "Total bytes in pool: {pool} memory_limit_: 3145728000 available bytes: {available}\n"
        "Limit:  3145728000\nInUse:  400000000\nMaxInUse:  400000000\n"
        "OOM when allocating tensor with shape[8] on /device:CPU:0 by allocator bfc_cpu_allocator_for_gpu\n"
    )
    case = Case(20, device_kind=DeviceKind.CPU, limit=3000 * MB, reason=Reason.DEVICE_MEMORY)
    refused = log.format(pool=536870912, available=2608857088)
    assert diagnose(replace(case, log=[refused.encode()])).diagnosis is Diagnosis.HOST
    full = log.format(pool=3145728000, available=0)
    assert diagnose(replace(case, log=[full.encode()])).diagnosis is not Diagnosis.HOST


def test_a_reported_device_failure_may_be_the_hosts_memory() -> None:
    log = [b"OOM when allocating tensor with shape[8] on /device:CPU:0 by allocator mklcpu\n"]
    outcome = Outcome(Reason.DEVICE_MEMORY, "ran out")
    assert diagnose(Case(20, log, outcome)).diagnosis is Diagnosis.HOST
    slot = Case(20, log, outcome, device_kind=DeviceKind.CPU, limit=2**30, reason=Reason.DEVICE_MEMORY)
    assert diagnose(slot).diagnosis is Diagnosis.TOO_LARGE


def test_a_survived_error_is_no_evidence_for_the_reported_reason() -> None:
    log = [(LOGS / "oom-survived-then-key.log").read_bytes()]
    found = diagnose(Case(22, log, Outcome(Reason.DISK_FULL, "the disk is full")))
    assert (found.diagnosis, found.evidence) == (Diagnosis.DISK, ())


# Broken lines


def test_a_harmless_message_that_is_broken_over_lines_stays_harmless() -> None:
    log = (
        b"Allocator (GPU_0_bfc) ran out of memory trying to allocate\n2.29GiB with freed_by_count=0. The caller\n"
        b"indicates that this is not a failure\nValueError: no\n"
    )
    assert diagnose(Case(1, [log])).diagnosis is Diagnosis.BUG


def test_the_device_may_stand_on_the_next_line() -> None:
    log = b"OOM when allocating tensor with shape[8,9] and type float on\n/device:CPU:0 by allocator cpu [Op:Mul]\n"
    assert diagnose(Case(1, [log])).diagnosis is Diagnosis.HOST


def test_the_allocators_limit_separates_two_jobs_in_one_log() -> None:
    other = (
        b"Found device 0 with properties:\nname: Quadro P5000 major: 6\ntotalMemory: 16.00GiB freeMemory: 15.84GiB\n"
        b"Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 15358 MB memory)\n"
    )
    log = b"".join(
        [
            b"Found device 0 with properties:\nname: Tesla K40c major: 3\ntotalMemory: 11.17GiB freeMemory: 500MiB\n",
            other,
            b"Allocator (GPU_0_bfc) ran out of memory trying to allocate 74.16MiB.  Current allocation\n",
            b"Stats:\nLimit:                   285474816\nInUse:                   208404480\n",
        ]
    )
    assert diagnose(Case(1, [log])).diagnosis is Diagnosis.NEIGHBOUR


def test_the_trainers_reason_is_part_of_the_message() -> None:
    assert diagnose(Case(23, reason=Reason.NAN_LOSS)).why == "the trainer reported: nan loss"


CREATED = (
    "I tensorflow/core/common_runtime/gpu/gpu_device.cc:2019] Created device "
    "/job:localhost/replica:0/task:0/device:GPU:0 with {limit} MB memory:  -> device: 0, "
    "name: {name}, pci bus id: 0000:01:00.0, compute capability: {capability}\n"
    "RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[8,256,128,128] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def log_of(card: Card, neighbour_mb: int = 0) -> bytes:
    limit = replace(card, display=card.display + neighbour_mb).given() // MB
    capability = "{}.{}".format(*card.capability)
    return CREATED.format(limit=limit, name=card.name, capability=capability).encode()


SMALL = [card for card in [*CARDS, *DESKTOPS] if card.total in (4096, 6144, 8192)]


@pytest.mark.parametrize("card", SMALL, ids=lambda card: card.name)
def test_an_empty_small_card_has_no_neighbour(card: Card) -> None:
    """TensorFlow's limit is far below what is free: that is its reserve, and a desktop is not waited for."""
    assert diagnose(Case(1, [log_of(card)])).diagnosis is Diagnosis.TOO_LARGE
    known = Case(1, [log_of(card)], device_kind=DeviceKind.GPU, limit=card.given(), total=card.total * MB)
    free = (card.total - card.driver - card.display) * MB
    assert diagnose(replace(known, free_at_claim=free)).diagnosis is Diagnosis.TOO_LARGE


@pytest.mark.parametrize("card", [card for card in SMALL if card.total > 5500], ids=lambda card: card.name)
def test_a_neighbour_with_5_gb_of_a_small_card_is_one(card: Card) -> None:
    assert diagnose(Case(1, [log_of(card, 5000)])).diagnosis is Diagnosis.NEIGHBOUR
