"""The doctor is asked with what a job's trainers reported; its advice is on the job, and in the message of a NaN."""

from typing import Any

import pytest

from services.attempts import finish, ingest
from services.attempts.finish import HeldAttempt, TrainerEnd
from services.domain.contract import EXIT_CODES, Outcome, Reason
from services.jobs import queries
from services.scheduling.claim import Claim
from services.store.models import Attempt
from tests.support.counting import counted
from tests.support.desk import Desk, Events
from tests.support.doctor_cases import healthy

STEPS, BATCH = 2000, 8
TRAIN = {"steps": STEPS, "batch_size": BATCH}
NO_OBJECTS = {"truths": 0, "classes": 0, "predictions": 3}


def claimed(desk: Desk, **train: Any) -> Claim:
    desk.slots(4000)
    return desk.claimed(train=TRAIN | train)


def take_in(desk: Desk, claim: Claim) -> None:
    while ingest.ingest(desk.store, claim.job_id, claim.attempt, claim.token, desk.folder(claim)):
        pass


def report(desk: Desk, claim: Claim, *, boxes: Any = None, until: int = STEPS, metrics: Any = None) -> None:
    """The series of a healthy training, and an evaluation."""
    writer = Events(desk.folder(claim))
    training = healthy(steps=STEPS, batch=BATCH)
    for point in training.loss:
        if point.step <= until:
            writer.step(point.step, loss=point.value)
    writer.write("eval", step=until, metrics=metrics or {}, images=30, boxes=boxes)
    take_in(desk, claim)


def advice(desk: Desk, job_id: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = queries.show_job(desk.store, desk.settings, desk.owner, job_id)["advice"]
    return found


def test_a_job_shows_the_advice_of_its_newest_evaluation_and_lists_do_not(desk: Desk) -> None:
    claim = claimed(desk)
    assert advice(desk, claim.job_id) == []
    report(desk, claim, boxes=NO_OBJECTS, metrics={"Loss/total_loss": 1.0})

    [found] = advice(desk, claim.job_id)
    assert (found["code"], found["severity"]) == ("validation_without_objects", "error")
    assert found["seen"] == "No box was found in 30 validation images, so there is no mAP (COCO's figure is -1 then)."
    [listed] = queries.list_jobs(desk.store, desk.settings, desk.owner, limit=5).items
    assert listed["advice"] is None


def test_a_trainer_that_counts_no_boxes_is_read_too(desk: Desk) -> None:
    claim = claimed(desk)
    report(desk, claim, metrics={"Loss/total_loss": 1.0})
    assert [one["code"] for one in advice(desk, claim.job_id)] == ["map_missing"]
    Events(desk.folder(claim)).write("eval", step=STEPS, metrics={"DetectionBoxes_Precision/mAP": 0.3})
    take_in(desk, claim)
    assert advice(desk, claim.job_id) == []


def test_a_training_that_went_well_has_none_however_it_is_read(desk: Desk) -> None:
    claim = claimed(desk)
    report(desk, claim, metrics={"DetectionBoxes_Precision/mAP": 0.4})
    desk.end(claim, Reason.COMPLETED, step=STEPS)
    assert desk.job(claim.job_id).state == "succeeded"
    assert advice(desk, claim.job_id) == []


def test_the_batch_of_the_plan_is_what_its_learning_rate_is_compared_with(desk: Desk) -> None:
    claim = claimed(desk, learning_rate=0.2)  # the default is 0.005
    report(desk, claim, metrics={"DetectionBoxes_Precision/mAP": 0.002})
    found = {one["code"]: one for one in advice(desk, claim.job_id)}
    assert "0.2 is 40 times the model's default of 0.005 at a batch of 8" in found["learning_rate_high"]["seen"]
    assert found["learning_rate_high"]["evidence"] == {
        "learning_rate": 0.2,
        "usual_learning_rate": 0.005,
        "batch_size": 8,
    }

    config = desk.job(claim.job_id).base_config.replace("momentum_optimizer {", "adam_optimizer {", 1)
    config = config.replace("momentum_optimizer_value: 0.9", "")
    desk.change(Attempt, (claim.job_id, claim.attempt), config=config)  # as a configuration of the owner's may be
    assert "learning_rate_high" not in [one["code"] for one in advice(desk, claim.job_id)]


def test_only_the_attempts_of_the_newest_plan_count(desk: Desk) -> None:
    """An evaluation of a larger image, or of another batch, says nothing of the plan that follows."""
    claim = claimed(desk)
    report(desk, claim, boxes=NO_OBJECTS, until=500)
    desk.ran_out(claim, in_use=3_000_000_000, step=500)
    again = desk.claim()
    assert again is not None
    same = desk.attempt(claim).plan
    desk.change(Attempt, (again.job_id, again.attempt), plan=same | {"micro_batch": 1})
    assert [one["code"] for one in advice(desk, claim.job_id)] == ["validation_without_objects"]
    desk.change(Attempt, (again.job_id, again.attempt), plan=same | {"batch_size": 4, "micro_batch": 4})
    assert advice(desk, claim.job_id) == []


def test_the_number_of_queries_does_not_grow_with_the_training(desk: Desk) -> None:
    claim = claimed(desk)

    def cost() -> int:
        with counted(desk.store) as asked:
            advice(desk, claim.job_id)
        return len(asked)

    report(desk, claim, until=100, metrics={"DetectionBoxes_Precision/mAP": 0.1})
    few = cost()
    report(desk, claim, metrics={"DetectionBoxes_Precision/mAP": 0.2})
    assert cost() == few <= 10


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (0.5, "0.5 is 100 times the model's default of 0.005 at a batch of 8, and the training does not work. Train"),
        (0.005, "The loss or the weights became infinite or no number, after a loss of "),
    ],
)
def test_the_message_of_a_nan_says_what_the_doctor_sees(desk: Desk, rate: float, said: str) -> None:
    claim = claimed(desk, learning_rate=rate)
    report(desk, claim, until=400)
    folder = desk.folder(claim)
    outcome = Outcome(reason=Reason.NAN_LOSS, message="Loss/total_loss became nan at or before step 401", step=400)
    (folder / "outcome.json").write_text(outcome.to_json())

    held = HeldAttempt(claim.job_id, claim.attempt, claim.token, folder)
    finish.finish_attempt(desk.store, held, TrainerEnd(EXIT_CODES[Reason.NAN_LOSS]))

    attempt, job = desk.attempt(claim), desk.job(claim.job_id)
    assert str(attempt.message).startswith("Loss/total_loss became nan at or before step 401. The ")
    assert said in str(attempt.message)
    assert said in str(job.reason)
    assert "loss_not_finite" in [one["code"] for one in advice(desk, claim.job_id)]


def test_without_advice_the_attempt_still_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ArithmeticError

    monkeypatch.setattr("services.jobs.advice.examine", fail)
    claim = claimed(desk)
    desk.change(Attempt, (claim.job_id, claim.attempt), config="model {")
    folder = desk.folder(claim)
    (folder / "outcome.json").write_text(Outcome(reason=Reason.NAN_LOSS, message="it became nan").to_json())
    held = HeldAttempt(claim.job_id, claim.attempt, claim.token, folder)
    finish.finish_attempt(desk.store, held, TrainerEnd(EXIT_CODES[Reason.NAN_LOSS]))
    assert desk.attempt(claim).message == "it became nan"
    assert desk.job(claim.job_id).state == "failed"
