"""The remedy for every diagnosis, history and request to stop; no job is retried without end."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain.diagnosis.ending import Diagnosis
from services.domain.diagnosis.remedies import Next, Remedy, Scene, Tried, attempts_used, ran_out, remedy_for, waits_s
from services.domain.jobs.states import Stop
from services.domain.plan.adjustments import LEAST_BOXES, NONE, Adjustments, bounded, fewer_boxes, smaller_input
from services.domain.plan.input_sizes import InputSizes

SIZES = InputSizes(10_000, 8, 2, 2, 8, 100)
PASTS = [[], *([diagnosis] for diagnosis in Diagnosis), list(Diagnosis)]
ONCE = (Diagnosis.UNKNOWN_KILL, Diagnosis.LEAK)
KILL = Tried(Diagnosis.UNKNOWN_KILL)


def after(*diagnoses: Diagnosis, scene: Scene | None = None, stop: Stop | None = None, **last: Any) -> Remedy:
    tried = [Tried(diagnosis) for diagnosis in diagnoses]
    tried[-1] = dataclasses.replace(tried[-1], **last)
    return remedy_for(tried, scene or Scene(), 100, stop)


@pytest.mark.parametrize(("diagnosis", "stop"), itertools.product(Diagnosis, [None, *Stop]))
@pytest.mark.parametrize("scene", [Scene(), Scene(input=SIZES, neighbours="somebody", growth="it grew")])
def test_every_end_has_a_remedy_with_a_text(diagnosis: Diagnosis, stop: Stop | None, scene: Scene) -> None:
    for earlier in PASTS:
        remedy = after(*earlier, diagnosis, scene=scene, stop=stop)
        assert remedy.said
        assert (remedy.next is Next.SUCCEED) == (diagnosis is Diagnosis.COMPLETED)
        assert (remedy.next is Next.CANCEL) == (stop is Stop.CANCEL and diagnosis is not Diagnosis.COMPLETED)
        assert (remedy.reason is not None) == (remedy.next in (Next.FAIL, Next.RETRY_LATER))
        assert (remedy.wait_s > 0) == (remedy.next is Next.RETRY_LATER)
        if remedy.next is Next.PAUSE:
            assert stop is Stop.PAUSE


@given(
    st.lists(st.sampled_from([one for one in Diagnosis if one is not Diagnosis.COMPLETED]), min_size=1, max_size=10),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_job_without_progress_ends_after_any_failures(
    coming: list[Diagnosis], is_gpu: bool, trained: bool, seen: bool
) -> None:
    """The bounds of the remedies. TOO_LARGE is bounded by the planner."""
    tried: list[Tried] = []
    adjustments, sizes = NONE, SIZES
    for diagnosis in itertools.islice(itertools.cycle(coming), 1000):
        tried.append(Tried(diagnosis, adjustments, is_gpu=is_gpu, trained=trained, seen=seen))
        remedy = remedy_for(tried, Scene(input=sizes), 6)
        if remedy.next in (Next.FAIL, Next.SMALLER):
            return
        adjustments, sizes = remedy.adjustments, bounded(SIZES, remedy.adjustments)
    pytest.fail(f"{len(tried)} attempts, and it goes on")


def test_a_request_to_stop_changes_neither_success_nor_failure() -> None:
    for stop in Stop:
        assert after(Diagnosis.COMPLETED, stop=stop).next is Next.SUCCEED
    assert after(Diagnosis.BUG, stop=Stop.PAUSE).next is Next.FAIL
    assert after(Diagnosis.TOO_LARGE, stop=Stop.PAUSE).next is Next.SMALLER


def test_a_job_that_is_paused_keeps_the_remedy_for_its_next_attempt() -> None:
    remedy = after(Diagnosis.FRAGMENTATION, is_gpu=True, stop=Stop.PAUSE)
    assert (remedy.next, remedy.adjustments.async_allocator) == (Next.PAUSE, True)


@pytest.mark.parametrize("diagnosis", ONCE)
def test_a_remedy_that_helps_at_most_once_is_tried_once(diagnosis: Diagnosis) -> None:
    assert after(diagnosis).next is Next.AGAIN
    assert after(Diagnosis.TOO_LARGE, diagnosis).next is Next.AGAIN
    failed = after(diagnosis, Diagnosis.INTERRUPTED, diagnosis)
    assert failed.next is Next.FAIL
    assert "for the second time" in (failed.reason or "")


def test_a_kill_counts_only_where_nothing_new_was_saved() -> None:
    got_on = dataclasses.replace(KILL, saved=True)
    assert remedy_for([got_on] * 100, Scene(), 1).next is Next.AGAIN
    assert remedy_for([got_on] * 100 + [KILL], Scene(), 2).next is Next.AGAIN
    assert remedy_for([KILL, got_on, KILL], Scene(), 3).next is Next.AGAIN
    assert remedy_for([KILL, Tried(Diagnosis.NEIGHBOUR, saved=True), KILL], Scene(), 3).next is Next.AGAIN
    failed = remedy_for([got_on, KILL, KILL], Scene("killed"), 100)
    assert (failed.next, failed.reason) == (
        Next.FAIL,
        "killed (killed for the second time without a new checkpoint in between)",
    )


def test_kills_together_with_the_supervisor_have_their_own_bound() -> None:
    lost = dataclasses.replace(KILL, seen=False)
    assert attempts_used([lost] * 4) == 0
    assert remedy_for([lost] * 4, Scene(), 1).next is Next.AGAIN
    failed = remedy_for([lost] * 5, Scene("lost"), 100)
    assert (failed.next, failed.reason) == (Next.FAIL, "lost (killed 5 times without a new checkpoint)")
    assert remedy_for([lost] * 4 + [dataclasses.replace(lost, saved=True), lost], Scene(), 1).next is Next.AGAIN


def test_an_owner_may_pause_a_job_as_often_as_they_like_before_its_first_step() -> None:
    paused = Tried(Diagnosis.INTERRUPTED, trained=False, paused=True)
    unheard = dataclasses.replace(paused, paused=False)
    assert remedy_for([paused] * 20, Scene(), 1, Stop.PAUSE).next is Next.PAUSE
    assert remedy_for([*[paused] * 20, unheard], Scene(), 1).next is Next.AGAIN
    assert remedy_for([unheard] * 5, Scene(), 1).next is Next.FAIL
    assert remedy_for([unheard] * 5, Scene(), 1, Stop.PAUSE).next is Next.PAUSE


def test_a_host_that_interrupts_again_and_again_without_a_checkpoint_has_a_bound() -> None:
    interrupted = Tried(Diagnosis.INTERRUPTED)
    assert remedy_for([interrupted] * 49, Scene(), 1).next is Next.AGAIN
    assert remedy_for([interrupted] * 50, Scene(), 1).next is Next.FAIL
    saved = dataclasses.replace(interrupted, saved=True)
    assert remedy_for([saved] * 200, Scene(), 1).next is Next.AGAIN


def test_a_bug_is_never_tried_again() -> None:
    assert after(Diagnosis.BUG).next is Next.FAIL


# What counts against the policy


def test_failures_that_others_cause_do_not_count_against_the_job() -> None:
    others = [Diagnosis.NEIGHBOUR, Diagnosis.DISK, Diagnosis.INTERRUPTED]
    tried = [Tried(diagnosis, saved=diagnosis in others) for diagnosis in [*others, Diagnosis.UNKNOWN_KILL, *others]]
    assert attempts_used(tried) == 1
    assert remedy_for(tried, Scene(), 1).next is Next.AGAIN
    assert remedy_for(tried[:4], Scene(), 2).next is Next.AGAIN
    enough = remedy_for(tried[:4], Scene("killed"), 1)
    assert (enough.next, enough.reason) == (Next.FAIL, "killed (used all 1 attempts that the policy allows)")


# Neighbours and disks


def test_the_wait_for_a_neighbour_grows_to_ten_minutes_and_starts_again_after_a_checkpoint() -> None:
    tried = [Tried(Diagnosis.NEIGHBOUR) for _ in range(8)]
    assert waits_s(tried) == [30, 60, 120, 240, 480, 600, 600, 600]
    assert [remedy_for(tried[:count], Scene(), 1).wait_s for count in (1, 2, 8)] == [30, 60, 600]
    got_on = [*tried[:5], Tried(Diagnosis.NEIGHBOUR, saved=True)]
    assert waits_s(got_on) == [30]
    assert waits_s([*tried[:2], Tried(Diagnosis.INTERRUPTED), tried[0]]) == [30, 60, 120]
    assert waits_s([*tried[:2], Tried(Diagnosis.UNKNOWN_KILL), tried[0]]) == [30]


def test_no_job_waits_for_ever() -> None:
    for diagnosis in (Diagnosis.NEIGHBOUR, Diagnosis.DISK):
        tried = [Tried(diagnosis) for _ in range(50)]
        assert remedy_for(tried[:49], Scene(), 1).next is Next.RETRY_LATER
        given_up = remedy_for(tried, Scene("no room"), 1)
        assert (given_up.next, given_up.reason) == (
            Next.FAIL,
            "no room (waited 50 times in a row without progress)",
        )


def test_a_waiting_job_names_the_neighbours() -> None:
    remedy = after(
        Diagnosis.NEIGHBOUR, scene=Scene("it ran out", neighbours="python (process 7) holds 9216 MB of GPU 0")
    )
    assert remedy.reason == "it ran out: python (process 7) holds 9216 MB of GPU 0; retried after 30 s"
    assert "python (process 7)" in remedy.said
    assert remedy.adjustments == NONE


def test_a_full_disk_names_its_host_and_what_to_do() -> None:
    remedy = after(Diagnosis.DISK, scene=Scene("the disk is full", host="box7"))
    assert (remedy.next, remedy.wait_s) == (Next.RETRY_LATER, 60)
    assert "free disk space on box7" in (remedy.reason or "")


# Fragmentation


def failed_on(*devices: str, saved: bool = False) -> Remedy:
    tried = [Tried(Diagnosis.DEVICE, is_gpu=True, device=device, saved=saved) for device in devices]
    return remedy_for(tried, Scene(message="illegal address"), max_attempts=1)


def test_a_device_that_fails_costs_the_job_no_attempt() -> None:
    remedy = failed_on("box/gpu-0")
    assert (remedy.next, attempts_used([Tried(Diagnosis.DEVICE)])) == (Next.AGAIN, 0)
    assert "another device" in remedy.said


def test_a_job_that_makes_two_devices_fail_is_the_cause() -> None:
    remedy = failed_on("box/gpu-0", "box/gpu-1")
    assert remedy.next is Next.FAIL
    assert remedy.reason == "illegal address (2 devices failed like this with this job)"


def test_a_job_that_makes_one_device_fail_again_and_again_is_the_cause() -> None:
    assert failed_on("box/gpu-0", "box/gpu-0").next is Next.AGAIN
    assert failed_on("box/gpu-0", "box/gpu-0", "box/gpu-0").next is Next.FAIL
    assert failed_on("box/gpu-0", "box/gpu-0", "box/gpu-0", saved=True).next is Next.AGAIN


def test_fragmentation_leads_to_the_other_allocator_and_then_to_a_smaller_plan() -> None:
    first = after(Diagnosis.FRAGMENTATION, is_gpu=True)
    assert first.next is Next.AGAIN
    assert first.adjustments == Adjustments(async_allocator=True)
    assert [(change.lever, change.field, change.after) for change in first.changes] == [
        (None, "async_allocator", "cuda_malloc_async")
    ]
    assert after(Diagnosis.FRAGMENTATION, is_gpu=True, adjustments=first.adjustments).next is Next.SMALLER


def test_a_cpu_slot_has_no_other_allocator() -> None:
    assert after(Diagnosis.FRAGMENTATION).next is Next.SMALLER


def test_an_end_counts_as_too_large_once_its_remedy_is_used_up() -> None:
    spike, cpu = Tried(Diagnosis.SPIKE), Tried(Diagnosis.FRAGMENTATION)
    gpu = dataclasses.replace(cpu, is_gpu=True)
    remedied = dataclasses.replace(gpu, adjustments=Adjustments(async_allocator=True))
    tried = [spike, spike, cpu, gpu, remedied, Tried(Diagnosis.TOO_LARGE), Tried(Diagnosis.NEIGHBOUR)]
    assert ran_out(tried) == [False, True, True, False, True, True, False]


# Leaks and spikes


def test_a_leak_that_comes_back_fails_with_its_slope() -> None:
    scene = Scene("it ran out", growth="device memory grew by 3.0 MB a step over 500 steps")
    assert "3.0 MB a step" in after(Diagnosis.LEAK, scene=scene).said
    failed = after(Diagnosis.LEAK, Diagnosis.LEAK, scene=scene)
    assert failed.reason == "it ran out (for the second time): device memory grew by 3.0 MB a step over 500 steps"


def test_a_spike_leads_to_fewer_boxes_and_then_to_a_smaller_plan() -> None:
    first = after(Diagnosis.SPIKE, scene=Scene(input=SIZES))
    assert (first.next, first.adjustments) == (Next.AGAIN, Adjustments(max_number_of_boxes=50))
    [change] = first.changes
    assert (change.lever, change.field, change.before, change.after) == (
        None,
        "train_input_reader.max_number_of_boxes",
        "100",
        "50",
    )
    assert after(Diagnosis.SPIKE, Diagnosis.SPIKE, scene=Scene(input=SIZES)).next is Next.SMALLER


def test_few_boxes_are_not_made_fewer() -> None:
    few = dataclasses.replace(SIZES, max_number_of_boxes=LEAST_BOXES)
    assert fewer_boxes(few, NONE) is None
    assert fewer_boxes(dataclasses.replace(few, max_number_of_boxes=None), NONE) is None
    remedy = after(Diagnosis.SPIKE, scene=Scene(input=few))
    assert (remedy.next, remedy.adjustments) == (Next.AGAIN, NONE)


# The host


def shrunk(sizes: InputSizes) -> Sequence[tuple[int, int, int, int]]:
    """The input pipelines of a job on a host that runs out again and again."""
    found: list[tuple[int, int, int, int]] = []
    adjustments = NONE
    while True:
        remedy = after(Diagnosis.HOST, scene=Scene(input=sizes), adjustments=adjustments)
        if remedy.next is Next.FAIL:
            return found
        adjustments = remedy.adjustments
        sizes = bounded(sizes, adjustments)
        found.append(
            (sizes.shuffle_buffer_size, sizes.num_readers, sizes.num_parallel_batches, sizes.num_prefetch_batches)
        )


def test_the_input_pipeline_shrinks_to_its_floor_in_three_steps_from_the_largest() -> None:
    assert shrunk(SIZES) == [(1250, 2, 1, 1), (156, 1, 1, 1), (32, 1, 1, 1)]


@given(st.builds(InputSizes, *[st.integers(1, 10_000)] * 5, st.none() | st.integers(1, 1000)))
def test_each_step_shrinks_something_enlarges_nothing_and_there_are_few(sizes: InputSizes) -> None:
    found = list(shrunk(sizes))
    first = (sizes.shuffle_buffer_size, sizes.num_readers, sizes.num_parallel_batches, sizes.num_prefetch_batches)
    for before, now in itertools.pairwise([first, *found]):
        assert now != before
        assert all(new <= old for new, old in zip(now, before, strict=True))
        assert min(now) >= 1
    assert len(found) <= 8


def test_a_pipeline_at_its_floor_fails_and_names_the_memory_used() -> None:
    small = dataclasses.replace(
        SIZES, shuffle_buffer_size=4, num_readers=1, num_parallel_batches=1, num_prefetch_batches=1
    )
    assert smaller_input(small, NONE) is None
    failed = after(Diagnosis.HOST, scene=Scene("out of host memory", "box7", input=small, host_peak_bytes=3 * 2**30))
    assert failed.next is Next.FAIL
    assert "at its smallest (shuffle buffer 4, readers 1, batches ahead 1)" in (failed.reason or "")
    assert "box7 has too little memory (the trainer used 3072 MB)" in (failed.reason or "")


def test_images_decoded_at_once_become_fewer_too() -> None:
    sizes, adjustments, calls = dataclasses.replace(SIZES, num_parallel_map_calls=64), NONE, []
    for _ in range(3):
        adjustments = after(Diagnosis.HOST, scene=Scene(input=sizes), adjustments=adjustments).adjustments
        sizes = bounded(sizes, adjustments)
        calls.append(sizes.num_parallel_map_calls)
    assert calls == [16, 4, 1]
    assert smaller_input(sizes, adjustments) is None


def test_bounds_hold_on_another_host_and_never_enlarge() -> None:
    bounds = Adjustments(shuffle_buffer_size=100, num_readers=2, batches=1, max_number_of_boxes=20)
    assert bounded(SIZES, bounds) == InputSizes(100, 2, 1, 1, 8, 20)
    small = InputSizes(5, 1, 1, 1, 8, 3)
    assert bounded(small, bounds) == small
    assert bounded(SIZES, NONE) == SIZES
    many = dataclasses.replace(SIZES, num_parallel_map_calls=16)
    assert bounded(many, Adjustments(parallel_calls=4)).num_parallel_map_calls == 4


def test_adjustments_survive_json_and_leave_out_defaults() -> None:
    assert NONE.to_dict() == {}
    assert Adjustments.from_dict(None) == NONE
    some = Adjustments(async_allocator=True, shuffle_buffer_size=3)
    assert Adjustments.from_dict(some.to_dict()) == some
