"""From an attempt's measurements to its job's next state; the diagnosis is never given."""

import dataclasses

from services.attempts import ingest
from services.attempts.evidence import HostEvidence
from services.domain import pipeline_config
from services.domain.contract import EXIT_CODES, AllocatorStats, Outcome, Reason
from services.domain.jobs.states import State
from services.jobs import views
from services.scheduling.claim import Claim
from tests.support.desk import GB, MB, Desk, Events, gpu, slot
from tests.support.waiting import waits_for

DUMP = (
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 500.00MiB (rounded to 524288000)"
    "requested by op train_step/conv\n"
    "ResourceExhaustedError: OOM when allocating tensor with shape[8,64] and type float on /device:GPU:0"
    " by allocator GPU_0_bfc\n"
)


def train(desk: Desk, claim: Claim, first: int, per_step: int, steps: int = 100, **evaluating: bool) -> None:
    """Report steps whose memory grows by a constant amount."""
    events = Events(desk.folder(claim))
    events.write("phase", phase="training", step=0, steps=steps)
    for step in range(1, steps + 1):
        events.step(step, peak=first + step * per_step)
    if evaluating:
        events.write("phase", phase="evaluating", step=steps)
    ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim))


def run_out(
    desk: Desk,
    claim: Claim,
    in_use: int,
    requested: int = 500 * MB,
    limit: int = 4000 * MB,
    host: HostEvidence | None = None,
) -> str:
    """End the attempt as a trainer that runs out of device memory does. Returns the diagnosis."""
    stats = AllocatorStats(limit=limit, in_use=in_use, peak=in_use, requested=requested, allocator="GPU_0_bfc")
    said = Outcome(Reason.DEVICE_MEMORY, "the device ran out of memory", allocator=stats)
    left = desk.left(claim, EXIT_CODES[Reason.DEVICE_MEMORY], said, DUMP, host)
    assert desk.finish(claim, left) is not None
    return desk.attempt(claim).diagnosis or ""


def again(desk: Desk, job_id: int) -> Claim:
    desk.set("jobs", f"id = {job_id}", not_before=None)
    claim = desk.claim()
    assert claim is not None, desk.job(job_id).reason
    return claim


def compose(desk: Desk, claim: Claim) -> None:
    config = pipeline_config.parse(claim.base_config)
    config.train_input_reader.max_number_of_boxes = 80
    desk.set(
        "attempts",
        f"job_id = {claim.job_id} AND number = {claim.attempt}",
        config=pipeline_config.to_text(config),
    )


def test_growing_memory_is_a_leak_that_is_resumed_once_and_then_fails_with_its_slope(desk: Desk) -> None:
    desk.slots(4000)
    claim = first = desk.claimed()
    for state in (State.QUEUED, State.FAILED):
        train(desk, claim, 500 * MB, 30 * MB)
        assert run_out(desk, claim, in_use=3900 * MB) == "leak"
        job = desk.job(claim.job_id)
        assert job.state == state
        if state == State.QUEUED:
            claim = again(desk, claim.job_id)
            assert claim.plan == first.plan
    assert "device memory grew by 30 MB a step" in (job.reason or "")


def test_the_attempt_stores_the_lines_and_numbers_of_its_diagnosis(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    assert run_out(desk, claim, in_use=3900 * MB) == "too_large"
    found = desk.attempt(claim).finding
    assert found is not None
    assert [line["line"] for line in found["evidence"]] == [1, 2]
    assert "train_step/conv" in found["evidence"][0]["text"]
    assert found["figures"]["in_use"] == 3900 * MB
    assert found["figures"]["requested"] == 500 * MB
    assert found["figures"]["op"] == "train_step/conv"
    assert "too large" in found["why"]
    assert views.attempt_view(desk.attempt(claim))["finding"] == found


def test_log_lines_that_no_database_can_store_do_not_block_the_end(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    desk.finish(claim, desk.left(claim, 1, log="ValueError: a \0 in the text\n"))
    finding = desk.attempt(claim).finding
    assert finding is not None
    assert finding["evidence"][0]["text"] == "ValueError: a  in the text"


def test_an_attempt_that_did_not_fail_has_no_finding(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    desk.end(claim, Reason.COMPLETED)
    assert desk.attempt(claim).finding is None


def test_one_step_that_needs_more_than_the_others_limits_the_boxes(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    compose(desk, claim)
    train(desk, claim, 500 * MB, 0)
    assert run_out(desk, claim, in_use=3900 * MB) == "spike"
    second = again(desk, claim.job_id)
    assert second.plan == claim.plan
    assert second.adjustments.max_number_of_boxes == 40


def test_an_evaluation_that_runs_out_is_not_a_spike(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    train(desk, claim, 500 * MB, 0, evaluating=True)
    assert run_out(desk, claim, in_use=3900 * MB) == "too_large"


def test_fragmented_gpu_memory_gets_the_other_allocator(desk: Desk) -> None:
    desk.report(gpu(0, 8 * GB, 8 * GB))
    claim = desk.claimed()
    assert run_out(desk, claim, in_use=5 * GB, requested=GB, limit=7 * GB) == "fragmentation"
    desk.report(gpu(0, 8 * GB, 8 * GB))
    second = again(desk, claim.job_id)
    assert (second.plan, second.adjustments.async_allocator) == (claim.plan, True)


def test_gpu_memory_beyond_the_allocators_limit_is_not_fragmentation(desk: Desk) -> None:
    """TensorFlow does not use all memory of a card, so the card's size alone proves no fragmentation."""
    desk.report(gpu(0, 8 * GB, 8 * GB))
    claim = desk.claimed()
    stats = AllocatorStats(in_use=int(7.2 * GB), peak=int(7.2 * GB), requested=GB // 2)
    said = Outcome(Reason.DEVICE_MEMORY, "the device ran out of memory", allocator=stats)
    desk.finish(claim, desk.left(claim, EXIT_CODES[Reason.DEVICE_MEMORY], said, DUMP))
    assert desk.attempt(claim).diagnosis == "too_large"


def test_a_process_seen_on_the_gpu_at_the_end_is_waited_for_by_name(desk: Desk) -> None:
    """The host's last report did not include the process yet."""
    desk.report(gpu(0, 8 * GB, 8 * GB))
    claim = desk.claimed()
    host = HostEvidence(6 * GB, ({"pid": 815, "name": "blender", "used_bytes": 6 * GB},))
    assert run_out(desk, claim, in_use=GB, limit=7 * GB, host=host) == "neighbour"
    job = desk.job(claim.job_id)
    assert (job.state, job.plan) == (State.QUEUED, desk.attempt(claim).plan)
    assert "blender (process 815) holds 6144 MB of GPU 0" in waits_for(job)
    assert job.not_before is not None


def test_oom_on_a_gpu_that_was_half_used_at_the_claim_is_a_neighbours_fault(desk: Desk) -> None:
    desk.report(gpu(0, 16 * GB, 8 * GB, others=8 * GB))
    claim = desk.claimed()
    assert run_out(desk, claim, in_use=int(5.6 * GB), limit=int(5.8 * GB)) == "neighbour"
    assert "python (process 4711) holds 8192 MB of GPU 0" in waits_for(desk.job(claim.job_id))


def test_a_job_waits_for_a_slot_without_enough_memory_and_names_the_process(desk: Desk) -> None:
    holder = {"pid": 815, "name": "blender", "used_bytes": 6 * GB}
    desk.report(dataclasses.replace(slot(0, 8000, free_mb=300), processes=(holder,)))
    job_id = desk.submit()
    asked = desk.job(job_id).plan
    assert desk.claim() is None
    assert "blender (process 815) holds 6144 MB of slot 0" in waits_for(desk.job(job_id))
    desk.report(slot(0, 8000))
    assert again(desk, job_id).attempt == 1
    assert desk.job(job_id).plan == asked


def test_an_oom_kill_that_the_kernel_counted_shrinks_only_the_input(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    compose(desk, claim)
    desk.finish(claim, desk.left(claim, -9, log="step 1\n", host=HostEvidence(oom_kills=1)))
    assert desk.attempt(claim).diagnosis == "host"
    second = again(desk, claim.job_id)
    assert second.plan == claim.plan
    assert second.adjustments.batches == 1


def test_a_kill_that_the_kernel_did_not_count_stays_unknown(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    desk.finish(claim, desk.left(claim, -9, log="step 1\n", host=HostEvidence(oom_kills=0)))
    assert desk.attempt(claim).diagnosis == "unknown_kill"


def test_a_full_disk_makes_the_job_wait_with_its_plan(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    log = "ResourceExhaustedError: /data/ckpt-3.data-00000-of-00001; No space left on device\n"
    desk.finish(claim, desk.left(claim, 1, log=log))
    job = desk.job(claim.job_id)
    assert (desk.attempt(claim).diagnosis, job.state, job.plan) == ("disk", State.QUEUED, desk.attempt(claim).plan)
    assert job.not_before is not None
