"""The worker with real processes and databases. Only the trainer is a fake, which behaves as a test wants."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.domain.jobs.states import State
from services.jobs import actions
from services.store import training_series
from services.store.engine import Store
from services.store.models import Job
from tests.support.box import Box

MakeBox = Callable[..., Box]


@pytest.fixture
def make_box(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeBox]:
    made: list[Box] = []

    def make(**options: Any) -> Box:
        made.append(Box(tmp_path / "home", store, monkeypatch, **options))
        return made[-1]

    yield make
    for box in made:
        box.close()


def overlap(lives: list[tuple[str, str, float, float]], by: int) -> bool:
    """Whether two trainers with the same job (`by=0`) or device (`by=1`) ran at the same time."""
    ordered = sorted(lives, key=lambda life: life[2])
    return any(
        one[by] == other[by] and other[2] < one[3]
        for number, one in enumerate(ordered)
        for other in ordered[number + 1 :]
    )


def test_a_job_that_fits_succeeds_at_its_first_attempt(make_box: MakeBox) -> None:
    box = make_box()
    job_id = box.submit(name="small")
    box.work()
    [job] = box.until_final(job_id)
    assert (job.state, job.reason, job.step, job.attempts) == (State.SUCCEEDED, None, 3, 1)
    [attempt] = box.attempts(job_id)
    assert attempt.diagnosis == "completed"
    assert "batch_size: 4" in attempt.config
    assert box.leases() == []


def test_a_job_that_runs_out_of_memory_is_requeued_smaller_and_resumes(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:1000")
    box.behave(need_mb_per_image=400)
    job_id = box.submit(train={"steps": 3, "batch_size": 8}, policy={"plan_ahead": False})
    box.work()
    [job] = box.until_final(job_id)
    assert job.state == State.SUCCEEDED
    first, *_, last = box.attempts(job_id)
    assert (first.diagnosis, first.plan["micro_batch"]) == ("too_large", 8)
    assert last.plan["batch_size"] == 8
    assert last.plan["micro_batch"] <= 2
    assert last.planned["changes"][0]["field"] == "micro_batch"
    assert last.planned["changes"][0]["reason"]


def test_a_job_without_measurements_is_probed_and_trains_with_the_probes_choice(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:1000")
    box.behave(need_mb_per_image=100)
    job_id = box.submit(train={"steps": 3, "batch_size": 8})
    box.work()
    [job] = box.until_final(job_id)
    [attempt] = box.attempts(job_id)
    assert (job.state, attempt.diagnosis) == (State.SUCCEEDED, "completed")
    assert job.plan["micro_batch"] == attempt.plan["micro_batch"] == 8
    assert attempt.planned["changes"][-1]["before"] in ("1", "2", "4")
    assert "the probe measured 800 MB at micro-batch 8, of 1000 MB" in attempt.planned["summary"]
    assert attempt.peak_bytes == 800 * 2**20


def test_with_a_smaller_batch_a_job_resumes_after_the_same_number_of_images(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:1000")
    box.behave(late_need_mb_per_image=200, die_at_step=3)
    policy = {"plan_ahead": False, "levers": ["batch_size"]}
    job_id = box.submit(train={"steps": 6, "batch_size": 8}, policy=policy)
    box.work()
    [job] = box.until_final(job_id)
    assert job.state == State.SUCCEEDED
    first, *_, last = box.attempts(job_id)
    batch = last.plan["batch_size"]
    assert (first.saved_step, batch < 8) == (3, True)
    assert job.step == job.steps == last.saved_step == round(6 * 8 / batch)
    began = _steps(box, job_id, last.number)[0]
    assert abs((began - 1) * batch - 3 * 8) <= batch / 2, "the same number of images, to half a batch"


def _steps(box: Box, job_id: int, attempt: int) -> list[int]:
    """The steps that an attempt reported."""
    with box.store.reading() as session:
        found = training_series.series_of_attempt(session, job_id, attempt, "Loss/total_loss", 1000)
        return [bucket.step for bucket in found]


def test_a_job_that_does_not_fit_at_its_floors_fails_with_a_reason_that_names_them(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:500")
    box.behave(need_mb_per_image=800)
    policy = {"plan_ahead": False, "levers": ["image_size"], "min_image_size": 256}
    job_id = box.submit(policy=policy, train={"steps": 3, "batch_size": 2})
    box.work()
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.FAILED, 1)
    assert "256" in (job.reason or "")


def test_jobs_on_one_device_run_one_after_the_other_by_priority_then_age(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:2000")
    box.behave(step_s=0.1)
    jobs = [box.submit(priority=priority) for priority in (-5, -5, 0)]
    box.work()
    box.until_final(*jobs)
    lives = box.lives()
    order = [int(life[0]) for life in sorted(lives, key=lambda life: life[2])]
    assert order == [jobs[2], jobs[0], jobs[1]]
    assert not overlap(lives, by=1)


def test_two_devices_run_two_jobs_at_the_same_time(make_box: MakeBox) -> None:
    box = make_box(devices="cpu:2000,cpu:2001")
    box.hold(2)
    jobs = [box.submit(), box.submit()]
    box.work()
    for job_id in jobs:
        box.until_phase(job_id, "training")
    box.go()
    box.until_final(*jobs)
    (_, one, start, stop), (_, other, begin, _) = sorted(box.lives(), key=lambda life: life[2])
    assert one != other
    assert begin < stop
    assert start < stop


@pytest.mark.parametrize("phase", ["tracing", "training", "evaluating"])
def test_cancelling_frees_the_device(make_box: MakeBox, phase: str) -> None:
    box = make_box()
    box.behave(phases_s={phase: 60})
    job_id = box.submit()
    box.work()
    box.until_phase(job_id, phase)
    actions.cancel(box.store, box.owner, job_id)
    [job] = box.until_final(job_id)
    assert job.state == State.CANCELLED
    assert box.leases() == []


def test_a_queued_job_is_cancelled_at_once_and_never_starts(make_box: MakeBox) -> None:
    box = make_box()
    job_id = box.submit()
    actions.cancel(box.store, box.owner, job_id)
    assert box.job(job_id).state == State.CANCELLED
    box.work()
    box.until_final(box.submit())
    assert box.attempts(job_id) == []


def test_a_trainer_that_ignores_sigterm_is_killed(make_box: MakeBox) -> None:
    box = make_box(stop_grace_s=0.5)
    box.behave(die="deaf")
    job_id = box.submit()
    box.work()
    box.until("step 2", lambda: box.job(job_id).step == 2)
    actions.cancel(box.store, box.owner, job_id)
    [job] = box.until_final(job_id)
    assert job.state == State.CANCELLED
    assert "did not stop by itself" in (box.attempts(job_id)[0].message or "")


def test_a_paused_job_resumes_from_its_checkpoint(make_box: MakeBox) -> None:
    box = make_box()
    box.behave(die="hang")
    job_id = box.submit(train={"steps": 5, "batch_size": 4})
    box.work()
    box.until("step 2", lambda: box.job(job_id).step == 2)
    actions.pause(box.store, box.owner, job_id)
    box.until("the pause", lambda: box.job(job_id).state == State.PAUSED)
    assert box.leases() == []
    assert box.attempts(job_id)[0].saved_step == 2
    box.behave()
    actions.resume(box.store, box.settings, box.owner, job_id)
    [job] = box.until_final(job_id)
    assert (job.state, job.step, job.attempts) == (State.SUCCEEDED, 5, 2)
    steps = [float(line.split()[5]) for line in box.observer.read_text().splitlines()]
    assert len(steps) == 4


def test_a_job_whose_checkpoint_is_gone_fails_instead_of_starting_from_random_weights(make_box: MakeBox) -> None:
    box = make_box()
    job_id = box.submit()
    with box.store.transaction() as session:
        session.get_one(Job, job_id).request = {**box.job(job_id).request, "checkpoint": "zoo"}
    box.work()
    [job] = box.until_final(job_id)
    assert job.state == State.FAILED
    assert "the checkpoint 'zoo' is gone: upload it again" in (job.reason or "")


def test_a_job_whose_trainer_is_killed_resumes(make_box: MakeBox) -> None:
    box = make_box()
    box.behave(die="kill", die_at_step=2)
    job_id = box.submit()
    box.work()
    box.until("the second attempt", lambda: len(box.attempts(job_id)) == 2)
    [job] = box.until_final(job_id)
    # The second attempt resumes after the step at which the fake trainer dies.
    assert job.state == State.SUCCEEDED
    assert [attempt.diagnosis for attempt in box.attempts(job_id)] == ["unknown_kill", "completed"]


def test_a_job_whose_trainer_crashes_fails_with_the_signal(make_box: MakeBox) -> None:
    box = make_box()
    box.behave(die="segfault")
    job_id = box.submit()
    box.work()
    [job] = box.until_final(job_id)
    assert job.state == State.FAILED
    assert "SIGSEGV" in (job.reason or "")
