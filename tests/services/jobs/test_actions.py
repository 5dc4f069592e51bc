"""Actions on jobs: who may do them, and in which states."""

import math
import shutil
from typing import Any

import pytest

from services.datasets import shapes
from services.domain.contract import Reason
from services.domain.jobs.states import FINAL, State, Stop, WrongState
from services.errors import Conflict, Forbidden, Invalid, NotFound
from services.jobs import actions, estimate, submit
from services.library import listing
from services.store.models import Attempt, AuditEntry, Job, Lease
from services.users.principal import Principal, Role, Scope
from tests.support.desk import Desk, ago


def cancel(desk: Desk, who: Principal, job_id: int) -> None:
    actions.cancel(desk.store, who, job_id)


def pause(desk: Desk, who: Principal, job_id: int) -> None:
    actions.pause(desk.store, who, job_id)


def resume(desk: Desk, who: Principal, job_id: int) -> None:
    actions.resume(desk.store, desk.settings, who, job_id)


def rename(desk: Desk, who: Principal, job_id: int) -> None:
    actions.edit(desk.store, who, job_id, {"name": "new"})


DEEDS = [cancel, pause, resume, rename]


@pytest.mark.parametrize("deed", DEEDS)
def test_only_the_owner_and_admins_may_act_on_a_job(desk: Desk, deed: Any) -> None:
    viewer = Principal(desk.owner.user_id, "owner", Role.VIEWER, frozenset({Scope.READ}))
    for other in (desk.user("other"), viewer):
        job_id = desk.submit()
        if deed is resume:
            desk.change(Job, job_id, state=State.PAUSED)
        before = desk.job(job_id)
        with pytest.raises(Forbidden):
            deed(desk, other, job_id)
        after = desk.job(job_id)
        assert (after.state, after.version, after.name) == (before.state, before.version, before.name)
    deed(desk, desk.admin, job_id)
    assert desk.job(job_id).version == before.version + 1


@pytest.mark.parametrize("deed", DEEDS)
def test_an_unknown_job_is_not_found(desk: Desk, deed: Any) -> None:
    with pytest.raises(NotFound, match="there is no job 999"):
        deed(desk, desk.owner, 999)


WAITING = {
    cancel: {State.QUEUED: State.CANCELLED, State.PAUSED: State.CANCELLED},
    pause: {State.QUEUED: State.PAUSED},
    resume: {State.PAUSED: State.QUEUED},
}


@pytest.mark.parametrize("deed", WAITING)
@pytest.mark.parametrize("state", [state for state in State if state is not State.RUNNING])
def test_a_job_that_does_not_run_changes_state_at_once_or_is_refused(desk: Desk, deed: Any, state: State) -> None:
    job_id = desk.submit()
    desk.change(Job, job_id, state=state, waiting_for={"kind": "free_device"}, not_before=ago(-60))
    expected = WAITING[deed].get(state)
    if expected is None:
        with pytest.raises(WrongState):
            deed(desk, desk.owner, job_id)
        assert desk.job(job_id).state == state
        assert desk.rows(AuditEntry)[-1].action == "job.submit"
        return
    deed(desk, desk.owner, job_id)
    job = desk.job(job_id)
    assert (job.state, job.reason, job.waiting_for) == (expected, None, None)
    assert (job.finished_at is not None) == (expected in FINAL)
    assert desk.events(job_id, "state")[-1] == {
        "state": expected,
        "reason": None,
        "waiting_for": None,
        "by": "owner",
    }
    assert desk.rows(AuditEntry)[-1].action == f"job.{deed.__name__}"
    if deed is resume:
        assert job.not_before is None


@pytest.mark.parametrize(("deed", "stop"), [(cancel, Stop.CANCEL), (pause, Stop.PAUSE)])
def test_a_running_job_is_asked_to_stop_once(desk: Desk, deed: Any, stop: Stop) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    for _ in range(2):
        deed(desk, desk.owner, claim.job_id)
        job = desk.job(claim.job_id)
        assert (job.state, job.stop, job.version) == (State.RUNNING, stop, 3)
    assert desk.events(claim.job_id, "stop_requested") == [{"stop": stop, "by": "owner"}]
    assert len(desk.leases()) == 1


def test_a_job_whose_host_is_dead_is_cancelled_without_it(desk: Desk) -> None:
    desk.slots(2000)
    claim = desk.claimed()
    desk.change(Lease, "box/cpu-0", expires_at=ago(300))
    actions.cancel(desk.store, desk.owner, claim.job_id)
    assert desk.job(claim.job_id).state == State.RUNNING  # the host may only be slow
    desk.change(Lease, "box/cpu-0", expires_at=ago(660))
    actions.cancel(desk.store, desk.owner, claim.job_id)
    assert (desk.job(claim.job_id).state, desk.job(claim.job_id).stop) == (State.CANCELLED, None)
    assert desk.leases() == []
    assert "has not reported since" in (desk.attempt(claim).message or "")
    # If the host comes back, its results change nothing.
    assert desk.end(claim, Reason.COMPLETED) is None
    assert desk.job(claim.job_id).state == State.CANCELLED


def test_a_running_job_cannot_be_resumed(desk: Desk) -> None:
    desk.slots(4000)
    with pytest.raises(WrongState):
        resume(desk, desk.owner, desk.claimed().job_id)


def test_cancelling_overrides_pausing_but_not_the_other_way_round(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    pause(desk, desk.owner, claim.job_id)
    cancel(desk, desk.owner, claim.job_id)
    assert desk.job(claim.job_id).stop == Stop.CANCEL
    with pytest.raises(Conflict) as refused:
        pause(desk, desk.owner, claim.job_id)
    assert refused.value.code == "wrong_state"
    desk.end(claim, Reason.STOPPED)
    assert desk.job(claim.job_id).state == State.CANCELLED


def test_a_paused_job_keeps_its_position_by_age(desk: Desk) -> None:
    first, second = desk.submit(), desk.submit()
    pause(desk, desk.owner, first)
    resume(desk, desk.owner, first)
    desk.slots(4000)
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == first
    assert desk.job(second).state == State.QUEUED


def other_home(desk: Desk) -> None:
    """Datasets that a test may damage; `shapes` is a copy."""
    datasets = desk.settings.datasets_dir
    shared = datasets.resolve()
    datasets.unlink()
    shutil.copytree(shared, datasets)


def paused_job(desk: Desk, **request: Any) -> int:
    job_id = desk.submit(**request)
    pause(desk, desk.owner, job_id)
    return job_id


def refused_resume(desk: Desk, job_id: int) -> str:
    before = desk.job(job_id)
    with pytest.raises(Conflict) as refused:
        resume(desk, desk.owner, job_id)
    assert refused.value.code == "files_missing"
    after = desk.job(job_id)
    assert (after.state, after.version) == (State.PAUSED, before.version)
    return str(refused.value)


def test_a_job_without_its_dataset_is_not_resumed(desk: Desk) -> None:
    other_home(desk)
    job_id = paused_job(desk)
    (desk.settings.datasets_dir / "shapes" / "label_map.pbtxt").unlink()
    assert "the job's dataset cannot be used: dataset 'shapes'" in refused_resume(desk, job_id)
    shutil.rmtree(desk.settings.datasets_dir / "shapes")
    assert refused_resume(desk, job_id) == (
        "the dataset 'shapes' is gone: add it again under this name, then resume the job"
    )
    shapes.generate(desk.settings.datasets_dir / "shapes", train=4, validation=2, size=64)
    resume(desk, desk.owner, job_id)
    assert desk.job(job_id).state == State.QUEUED


def test_a_job_without_the_weights_it_starts_from_is_not_resumed(desk: Desk) -> None:
    desk.slots(4000)
    claim = desk.claimed()
    pause(desk, desk.owner, claim.job_id)
    desk.end(claim, Reason.STOPPED)
    # As if it had been submitted with a checkpoint that was deleted since.
    desk.change(Job, claim.job_id, request={**desk.job(claim.job_id).request, "checkpoint": "zoo"})
    said = refused_resume(desk, claim.job_id)
    assert said.startswith("the checkpoint 'zoo' is gone: upload it again under this name with POST /v1/checkpoints")
    desk.change(Attempt, (claim.job_id, claim.attempt), saved_step=3)
    resume(desk, desk.owner, claim.job_id)  # now it has its own checkpoint
    assert desk.job(claim.job_id).state == State.QUEUED


# Clones


def clone(desk: Desk, job_id: int, key: str | None = None, **changes: Any) -> Job:
    return desk.job(actions.clone(desk.store, desk.settings, desk.owner, job_id, changes, key).job_id)


def test_a_clone_has_the_same_request_and_another_name(desk: Desk) -> None:
    job = desk.job(desk.submit(name="first", notes="n", priority=-4, policy={"max_attempts": 3}))
    copy = clone(desk, job.id)
    assert copy.id != job.id
    assert copy.name == "first (copy)"
    assert (copy.asked, copy.policy, copy.notes, copy.priority) == (job.asked, job.policy, job.notes, job.priority)


def test_changes_are_merged_one_level_deep(desk: Desk) -> None:
    job = desk.job(desk.submit(policy={"max_attempts": 3, "min_batch_size": 2}))
    copy = clone(desk, job.id, name="other", train={"batch_size": 4}, policy={"max_attempts": 5}, image_size=[512, 512])
    assert (copy.name, copy.asked["batch_size"], copy.asked["steps"]) == ("other", 4, 10)
    assert (copy.policy["max_attempts"], copy.policy["min_batch_size"]) == (5, 2)
    assert copy.asked["image_size"] == [512, 512]
    assert desk.job(job.id).request == job.request


def test_a_length_in_epochs_replaces_one_in_steps_and_back(desk: Desk) -> None:
    job = desk.job(desk.submit())  # 10 steps of 8 images
    by_epochs = clone(desk, job.id, train={"epochs": 6})
    images = next(one["images"] for one in listing.list_datasets(desk.settings) if one["name"] == "shapes")
    assert by_epochs.request["train"] == {"epochs": 6, "batch_size": 8}
    assert by_epochs.steps == math.ceil(6 * images / 8)
    smaller = clone(desk, by_epochs.id, train={"batch_size": 4})
    assert smaller.steps == math.ceil(6 * images / 4)
    by_steps = clone(desk, by_epochs.id, train={"steps": 7})
    assert by_steps.request["train"] == {"steps": 7, "batch_size": 8}
    assert by_steps.steps == 7


def test_a_clone_is_checked_like_any_request(desk: Desk) -> None:
    job_id = desk.submit()
    with pytest.raises(Invalid) as refused:
        clone(desk, job_id, model=None)
    assert [fault.field for fault in refused.value.faults] == ["model"]
    with pytest.raises(NotFound):
        clone(desk, 999)


def test_a_clone_of_a_job_with_the_longest_name_gets_a_valid_name(desk: Desk) -> None:
    assert len(clone(desk, desk.submit(name="n" * 128)).name) == 128


def test_a_clone_belongs_to_its_submitter_and_is_created_once_per_key(desk: Desk) -> None:
    job_id, other = desk.submit(), desk.user("other")
    made = [actions.clone(desk.store, desk.settings, other, job_id, {}, "k") for _ in range(2)]
    assert made[0].job_id == made[1].job_id
    assert desk.job(made[0].job_id).owner_id == other.user_id


# Editing


def test_an_edit_changes_editable_fields_only(desk: Desk) -> None:
    job_id = desk.submit()
    actions.edit(
        desk.store, desk.owner, job_id, {"name": "n", "notes": "o", "priority": -7, "state": "failed", "owner_id": 99}
    )
    job = desk.job(job_id)
    assert (job.name, job.notes, job.priority, job.version) == ("n", "o", -7, 2)
    assert (job.state, job.owner_id) == (State.QUEUED, desk.owner.user_id)
    assert desk.events(job_id, "edited") == [{"by": "owner", "name": "n", "notes": "o", "priority": -7}]


def test_an_edit_of_an_outdated_version_is_a_conflict(desk: Desk) -> None:
    job_id = desk.submit()
    actions.edit(desk.store, desk.owner, job_id, {"name": "one"}, if_match=1)
    with pytest.raises(Conflict, match="version 2") as refused:
        actions.edit(desk.store, desk.owner, job_id, {"name": "two"}, if_match=1)
    assert refused.value.code == "version_mismatch"
    actions.edit(desk.store, desk.owner, job_id, {"name": "two"}, if_match=2)
    assert desk.job(job_id).name == "two"


@pytest.mark.parametrize("state", FINAL)
def test_a_finished_job_may_be_renamed_but_not_reprioritised(desk: Desk, state: State) -> None:
    job_id = desk.submit()
    desk.change(Job, job_id, state=state)
    actions.edit(desk.store, desk.owner, job_id, {"name": "the good one"})
    with pytest.raises(Conflict, match="its priority can no longer be changed"):
        actions.edit(desk.store, desk.owner, job_id, {"priority": 1})


def test_a_higher_priority_makes_a_job_the_next(desk: Desk) -> None:
    first, second = desk.submit(), desk.submit()
    actions.edit(desk.store, desk.owner, first, {"priority": -1})
    desk.slots(4000)
    claim = desk.claim()
    assert claim is not None
    assert claim.job_id == second
    assert desk.job(first).state == State.QUEUED


def test_only_admins_may_raise_a_priority(desk: Desk) -> None:
    with pytest.raises(Invalid, match="priority: must be at most 0: only admins"):
        submit.submit(desk.store, desk.settings, desk.owner, desk.request(priority=1))
    with pytest.raises(Invalid, match="priority: must be at most 0"):
        estimate.estimate(desk.store, desk.settings, desk.owner, desk.request(priority=1))
    job_id = desk.submit(priority=-100)
    with pytest.raises(Invalid, match="priority: must be at most 0"):
        actions.edit(desk.store, desk.owner, job_id, {"priority": 1})
    actions.edit(desk.store, desk.owner, job_id, {"priority": 0})
    actions.edit(desk.store, desk.admin, job_id, {"priority": 100})
    assert desk.job(job_id).priority == 100


def test_an_owner_may_lower_a_priority_that_an_admin_raised(desk: Desk) -> None:
    job_id = desk.submit(priority=50)
    actions.edit(desk.store, desk.owner, job_id, {"name": "mine"})
    actions.edit(desk.store, desk.owner, job_id, {"priority": 30})
    with pytest.raises(Invalid):
        actions.edit(desk.store, desk.owner, job_id, {"priority": 31})
    assert desk.job(job_id).priority == 30


def test_a_clone_by_a_member_drops_a_raised_priority(desk: Desk) -> None:
    made = submit.submit(desk.store, desk.settings, desk.admin, desk.request(priority=9)).job_id
    assert clone(desk, made).priority == 0
    with pytest.raises(Invalid, match="priority"):
        clone(desk, made, priority=9)
    again = actions.clone(desk.store, desk.settings, desk.admin, made, {})
    assert desk.job(again.job_id).priority == 9
