"""How an attempt ended, from what it left behind. `remedies.py` decides what follows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from services.domain.contract import EXIT_CODES, Outcome, Reason
from services.domain.diagnosis.case import Case, Diagnosis, Finding
from services.domain.diagnosis.diagnose import REASONS, diagnose, how_it_ended

__all__ = ["Diagnosis", "Ending", "read_ending"]


_DIAGNOSES: dict[Reason, Diagnosis] = {
    Reason.COMPLETED: Diagnosis.COMPLETED,
    Reason.STOPPED: Diagnosis.INTERRUPTED,
    Reason.DEVICE_MEMORY: Diagnosis.TOO_LARGE,
    Reason.HOST_MEMORY: Diagnosis.HOST,
    Reason.DISK_FULL: Diagnosis.DISK,
    Reason.NAN_LOSS: Diagnosis.BUG,
    Reason.BAD_SPEC: Diagnosis.BUG,
    Reason.BAD_CONFIG: Diagnosis.BUG,
    Reason.BAD_DATASET: Diagnosis.BUG,
    Reason.BAD_CHECKPOINT: Diagnosis.BUG,
    Reason.BAD_DEVICE: Diagnosis.DEVICE,
    Reason.ERROR: Diagnosis.BUG,
}


@dataclass(frozen=True)
class Ending:
    diagnosis: Diagnosis
    message: str
    reason: Reason | None  # None: the trainer did not report one
    finding: Finding | None = None  # the basis of the diagnosis


def read_ending(
    exit_status: int | None,
    outcome: Outcome | None,
    log: Iterable[bytes] = (),
    known: Case | None = None,
    *,
    is_whole: bool = False,
) -> Ending:
    """How an attempt ended, by its outcome, else its exit status, else its log.

    `exit_status` as subprocess gives it: negative for a signal, None where it was lost. A success needs an outcome that
    says so and the exit status 0; where the status was lost, all the files that a success leaves (`is_whole`).
    `known` holds the measurements; its exit status, outcome, log and reason are ignored.
    """
    if exit_status is None and is_whole and outcome is not None and outcome.reason is Reason.COMPLETED:
        message = f"{outcome.message} (exit status unknown; its checkpoint and export are complete)"
        return Ending(Diagnosis.COMPLETED, message, outcome.reason)
    if exit_status == EXIT_CODES[Reason.COMPLETED]:
        return _without_failure(outcome)
    believed = outcome if outcome is not None and outcome.reason is not Reason.COMPLETED else None
    said = believed.reason if believed else REASONS.get(exit_status) if exit_status is not None else None
    finding = diagnose(replace(known or Case(), exit_status=exit_status, outcome=believed, log=log, reason=said))
    diagnosis = finding.diagnosis or Diagnosis.BUG
    return Ending(diagnosis, _message(exit_status, believed, said, finding), said, finding)


def _without_failure(outcome: Outcome | None) -> Ending:
    if outcome is not None and outcome.reason is Reason.COMPLETED:
        return Ending(Diagnosis.COMPLETED, outcome.message, outcome.reason)
    said = f"reported {outcome.reason}" if outcome is not None else "wrote no outcome"
    return Ending(Diagnosis.BUG, f"the trainer {said} but ended with exit status 0; see its log", None)


def _message(exit_status: int | None, outcome: Outcome | None, said: Reason | None, finding: Finding) -> str:
    """The trainer's own message where there is one, with what it leaves out."""
    how = how_it_ended(exit_status)
    if outcome is not None:
        plain = finding.diagnosis in (Diagnosis.TOO_LARGE, _DIAGNOSES[outcome.reason])
        return outcome.message if plain else f"{outcome.message}: {finding.why}"
    if said is not None:  # for example, an outcome cannot be written to a full disk
        return f"the trainer wrote no outcome and ended {how}, which means {said}"
    if exit_status is None and finding.diagnosis is Diagnosis.UNKNOWN_KILL:
        return "stopped unexpectedly (cause unknown): the supervisor was lost, and the exit status with it"
    if finding.diagnosis is Diagnosis.BUG and not finding.evidence:
        return f"the trainer wrote no outcome and ended {how}; see its log"
    is_told = exit_status is None or how in finding.why
    return finding.why if is_told else f"{finding.why}; the trainer ended {how}"
