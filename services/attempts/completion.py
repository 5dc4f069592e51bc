"""Check the files of an attempt whose outcome says that it completed.

Needed where the exit status is unknown: the outcome alone is only the trainer's claim.
"""

from pathlib import Path

from services.domain import pipeline_config
from services.domain.contract import (
    CHECKPOINTS_DIR,
    CONFIG_FILE,
    EXPORT_DIR,
    SPEC_FILE,
    AttemptSpec,
    ContractError,
    Outcome,
)
from services.domain.pipeline_config import ConfigError
from services.safe_files import open_regular

__all__ = ["what_is_missing"]

_LARGEST = 16 * 2**20  # bytes


def what_is_missing(attempt_dir: Path, outcome: Outcome) -> str | None:
    """Why `outcome` cannot be true; None if the last checkpoint and the export are complete."""
    try:
        spec = AttemptSpec.from_json(_text(attempt_dir / SPEC_FILE), passed_over=[])
        steps = pipeline_config.steps_of(pipeline_config.parse(_text(attempt_dir / CONFIG_FILE)))
    except (OSError, UnicodeDecodeError, ContractError, ConfigError) as error:
        return f"its settings cannot be read ({error})"
    is_early = outcome.stopped_early and spec.early_stopping is not None
    if (outcome.step < steps and not is_early) or outcome.saved_step != outcome.step:
        return f"it saved step {outcome.saved_step} of {steps}"
    job_dir = attempt_dir.parent
    if not _is_whole(job_dir / CHECKPOINTS_DIR / spec.architecture / f"ckpt-{outcome.saved_step}"):
        return f"the checkpoint of step {outcome.saved_step} is incomplete"
    export = job_dir / EXPORT_DIR
    if spec.export and not (
        outcome.export == EXPORT_DIR
        and _has_content(export / "saved_model" / "saved_model.pb")
        and _has_content(export / CONFIG_FILE)
        and _is_whole(export / "saved_model" / "variables" / "variables")
    ):
        return "the exported model is incomplete"
    return None


def _text(path: Path) -> str:
    with open_regular(path) as file:
        return file.read(_LARGEST).decode()


def _is_whole(checkpoint: Path) -> bool:
    """A TensorFlow checkpoint has an index and as many data files as the names of these say."""
    shards = [file for file in checkpoint.parent.glob(f"{checkpoint.name}.data-*-of-*") if _has_content(file)]
    count = {file.name.rpartition("-of-")[2] for file in shards}
    return _has_content(checkpoint.with_name(f"{checkpoint.name}.index")) and count == {f"{len(shards):05d}"}


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False
