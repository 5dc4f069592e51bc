"""Where the exit status is lost, the files decide whether a training is complete."""

from pathlib import Path

import pytest

from services.attempts.completion import what_is_missing
from services.domain import catalogue, pipeline_config
from services.domain.contract import AttemptSpec, EarlyStopping, Outcome, Reason
from worker.attempt_dir import write_attempt


@pytest.mark.parametrize(
    ("rule", "is_early", "missing"),
    [
        (EarlyStopping(), True, None),
        (EarlyStopping(), False, "it saved step 40 of 100"),
        (None, True, "it saved step 40 of 100"),  # nobody asked for it
    ],
)
def test_a_training_may_end_before_its_last_step_only_if_early_stopping_was_asked_for(
    tmp_path: Path, rule: EarlyStopping | None, is_early: bool, missing: str | None
) -> None:
    config = pipeline_config.build_config(catalogue.get("efficientdet_d0"), 1, (256, 256), 4, 100)
    spec = AttemptSpec(job_dir=str(tmp_path), architecture="efficientdet_d0", early_stopping=rule, export=False)
    folder = write_attempt(tmp_path / "attempt-1", spec, config)
    checkpoints = tmp_path / "checkpoints" / "efficientdet_d0"
    checkpoints.mkdir(parents=True)
    for name in ("ckpt-40.index", "ckpt-40.data-00000-of-00001"):
        (checkpoints / name).write_text("x")
    outcome = Outcome(Reason.COMPLETED, "done", step=40, saved_step=40, stopped_early=is_early)

    assert what_is_missing(folder, outcome) == missing
