"""Submitting stores a job and an event, once per key, on both databases."""

import threading
from typing import Any

import pytest

from services.domain.jobs.states import State
from services.errors import Conflict, Invalid, TooMany
from services.jobs import submit as submission
from services.jobs.check_request import check_request
from services.jobs.estimate import estimate
from services.jobs.submit import Submitted, submit
from services.settings import Settings
from services.store.models import Device, Event, IdempotencyKey, Job
from tests.support.desk import Desk, ago
from tests.support.waiting import waits_for


def ask(desk: Desk, key: str | None = None, **request: Any) -> Submitted:
    return submit(desk.store, desk.settings, desk.owner, desk.request(**request), key)


def test_a_job_is_queued_with_its_plan_and_an_event(desk: Desk) -> None:
    desk.slots(4000)
    submitted = ask(desk, name="mine", notes="for me", priority=-3)
    job = desk.job(submitted.job_id)
    assert (job.state, job.name, job.notes, job.priority) == (State.QUEUED, "mine", "for me", -3)
    assert job.plan == job.asked
    assert (job.steps, job.attempts, job.version, job.step) == (10, 0, 1, 0)
    assert job.planned["prediction"]["bytes"] > 0
    assert submitted.body["id"] == job.id
    assert submitted.body["state"] == "queued"
    [event] = desk.rows(Event)
    assert (event.kind, event.data["by"]) == ("submitted", "owner")


def test_a_job_without_a_name_is_named_after_model_and_dataset(desk: Desk) -> None:
    assert desk.job(ask(desk).job_id).name == "efficientdet_d0 on shapes"


def test_a_job_too_large_for_every_device_is_planned_smaller_at_once(desk: Desk) -> None:
    desk.slots(1000)
    job = desk.job(ask(desk, train={"steps": 10, "batch_size": 64}).job_id)
    assert job.plan["batch_size"] == 64
    assert job.plan["micro_batch"] < 64
    assert job.planned["capacity_bytes"] == 1000 * 2**20
    assert job.planned["changes"][0]["reason"]


def test_a_job_that_no_device_can_hold_is_refused_and_not_stored(desk: Desk) -> None:
    desk.slots(100)
    assert "smaller model" in refused(desk, "model")
    assert (desk.rows(Job), desk.rows(Event)) == ([], [])


def test_a_job_that_only_the_policy_keeps_from_fitting_is_refused_with_a_fitting_plan(desk: Desk) -> None:
    desk.slots(1000)
    large = {"steps": 10, "batch_size": 64}
    message = refused(desk, "policy", policy={"levers": ["image_size"]}, train=large)
    assert "With every change allowed it fits: Micro-batch" in message
    assert '"device": {"wait": true}' in message
    assert refused(desk, "policy", policy={"min_batch_size": 64, "levers": ["batch_size"]}, train=large)


def test_more_memory_than_any_known_device_has_is_refused_unless_the_job_waits_for_it(desk: Desk) -> None:
    desk.slots(1000)
    desk.slots(4000, host="large")
    desk.change(Device, "large/cpu-0", seen_at=ago(120))  # absent, but expected back
    message = refused(desk, "device.min_memory_mb", device={"min_memory_mb": 5000})
    assert message.startswith("no device has 5000 MB: the largest, ")
    assert "large/cpu-0), has 4000 MB" in message
    assert desk.job(ask(desk, device={"min_memory_mb": 3000}).job_id).state == State.QUEUED
    job = desk.job(ask(desk, device={"min_memory_mb": 5000, "wait": True}).job_id)
    assert (job.state, waits_for(job)) == (State.QUEUED, "Waits for a device with at least 5000 MB of memory")


def test_a_job_may_wait_for_a_device_that_can_hold_it(desk: Desk) -> None:
    desk.slots(100)
    job_id = ask(desk, device={"wait": True}).job_id
    assert waits_for(desk.job(job_id)).startswith("Waits for a larger device. It needs about ")
    assert desk.claim() is None
    assert (desk.job(job_id).state, desk.job(job_id).attempts) == (State.QUEUED, 0)
    assert waits_for(desk.job(job_id)).startswith("Waits for a larger device. It needs about ")
    desk.slots(4000)
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == job_id
    assert claim.plan.to_dict() == desk.job(job_id).asked


def test_a_job_for_a_briefly_absent_device_is_accepted(desk: Desk) -> None:
    desk.slots(4000, host="large")
    desk.slots(100)
    desk.change(Device, "large/cpu-0", seen_at=ago(120))
    job = desk.job(ask(desk).job_id)
    assert (job.state, job.plan) == (State.QUEUED, job.asked)


def refused(desk: Desk, field: str, **request: Any) -> str:
    """The message that submitting is refused with. The estimate of the same request must have it too."""
    with pytest.raises(Invalid) as caught:
        ask(desk, **request)
    [fault] = caught.value.faults
    estimated = estimate(desk.store, desk.settings, desk.owner, desk.request(**request))
    assert (estimated["possible"], estimated["problem"]) == (False, {"field": field, "message": fault.message})
    waits = {**request, "device": {**request.get("device", {}), "wait": True}}
    waiting = estimate(desk.store, desk.settings, desk.owner, desk.request(**waits))
    assert (waiting["possible"], waiting["problem"]) == (False, None)
    assert waiting["waits_for"].startswith("Waits for a ")
    assert fault.field == field
    return fault.message


def test_before_any_device_is_known_a_job_keeps_its_requested_plan(desk: Desk) -> None:
    job = desk.job(ask(desk).job_id)
    assert (job.state, job.plan) == (State.QUEUED, job.asked)


def test_a_refused_request_stores_nothing(desk: Desk) -> None:
    with pytest.raises(Invalid):
        ask(desk, key="k", dataset="none")
    assert desk.rows(Job) == []
    assert desk.rows(IdempotencyKey) == []
    assert ask(desk, key="k").replayed is False  # the key was not stored


def test_the_same_request_with_the_same_key_is_the_same_job(desk: Desk) -> None:
    first, second = ask(desk, key="k"), ask(desk, key="k")
    assert (first.replayed, second.replayed) == (False, True)
    assert first.job_id == second.job_id
    assert first.body == second.body
    assert len(desk.rows(Job)) == 1


def test_a_replay_shows_the_accepted_job_even_if_its_dataset_was_deleted(desk: Desk) -> None:
    first = ask(desk, key="k")
    desk.change(Job, first.job_id, state=State.CANCELLED)
    (desk.settings.home / "datasets").unlink()
    assert ask(desk, key="k").body == first.body


def test_a_key_used_for_another_request_is_a_conflict(desk: Desk) -> None:
    ask(desk, key="k")
    with pytest.raises(Conflict) as refused:
        ask(desk, key="k", name="another")
    assert refused.value.code == "key_reused"
    assert len(desk.rows(Job)) == 1


def test_keys_belong_to_their_users(desk: Desk) -> None:
    first = ask(desk, key="k")
    other = submit(desk.store, desk.settings, desk.user("other"), desk.request(), "k")
    assert not other.replayed
    assert other.job_id != first.job_id


def test_without_a_key_every_request_is_a_job(desk: Desk) -> None:
    assert ask(desk).job_id != ask(desk).job_id


@pytest.mark.parametrize("same", [True, False])
def test_simultaneous_requests_with_one_key_are_one_job(
    desk: Desk, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All requests have searched for the key, without finding it, before the first one writes."""
    count = 4
    gate, first_look = threading.Barrier(count), check_request

    def together(*arguments: Any) -> Any:
        gate.wait(timeout=30)
        return first_look(*arguments)

    monkeypatch.setattr(submission, "check_request", together)
    results: list[Any] = []

    def send(number: int) -> None:
        try:
            results.append(ask(desk, key="k", notes="" if same else str(number)))
        except Conflict as refused:
            results.append(refused)

    threads = [threading.Thread(target=send, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(desk.rows(Job)) == 1
    accepted = [result for result in results if isinstance(result, Submitted)]
    if same:
        assert len(accepted) == count
        assert {result.job_id for result in accepted} == {desk.rows(Job)[0].id}
        assert sorted(result.replayed for result in accepted) == [False, True, True, True]
    else:
        assert len(accepted) == 1
        assert [result.code for result in results if isinstance(result, Conflict)] == ["key_reused"] * 3


def limited(desk: Desk, most: int) -> Settings:
    return Settings(**{**vars(desk.settings), "max_jobs_per_user": most})


def test_a_user_cannot_exceed_the_limit_of_unfinished_jobs(desk: Desk) -> None:
    settings, other = limited(desk, 2), desk.user("other")
    first = submit(desk.store, settings, desk.owner, desk.request()).job_id
    submit(desk.store, settings, desk.owner, desk.request())
    with pytest.raises(TooMany, match="you already have 2 of 2 unfinished jobs"):
        submit(desk.store, settings, desk.owner, desk.request())
    submit(desk.store, settings, other, desk.request())
    desk.change(Job, first, state=State.PAUSED)
    with pytest.raises(TooMany):
        submit(desk.store, settings, desk.owner, desk.request())
    desk.change(Job, first, state=State.SUCCEEDED)
    assert submit(desk.store, settings, desk.owner, desk.request()).job_id


def test_the_limit_holds_for_simultaneous_requests(desk: Desk) -> None:
    settings, gate, refused = limited(desk, 2), threading.Barrier(6), []

    def send() -> None:
        gate.wait(timeout=30)
        try:
            submit(desk.store, settings, desk.owner, desk.request())
        except TooMany as error:
            refused.append(error)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(desk.rows(Job)), len(refused)) == (2, 4)


def test_job_ids_are_never_reused(desk: Desk) -> None:
    last = ask(desk).job_id
    with desk.store.transaction() as session:
        session.query(Event).delete()
        session.query(Job).delete()
    assert ask(desk).job_id > last


def test_old_keys_are_deleted(desk: Desk) -> None:
    first = ask(desk, key="old")
    desk.change(IdempotencyKey, (desk.owner.user_id, "old"), created_at=ago(8 * 24 * 3600))
    ask(desk, key="new")
    assert [row.key for row in desk.rows(IdempotencyKey)] == ["new"]
    assert ask(desk, key="old").job_id != first.job_id
