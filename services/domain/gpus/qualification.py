"""Qualification: may jobs run on a GPU? Judge what the checking process found, and remember the result.

The process pins one GPU by its uuid and writes a document: what TensorFlow sees and computes there. A result is a
plain dictionary, kept with the device. It holds while its fingerprint is the same.
"""

import datetime
import hashlib
import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from services.domain.gpus import cuda_errors

__all__ = [
    "MOST_FAILURES",
    "RETRY_S",
    "CheckEnd",
    "Verdict",
    "fingerprint",
    "is_being_checked",
    "is_due",
    "judge",
    "problem_of",
    "result_of",
]

MOST_FAILURES = 2  # in a row: then the GPU is quarantined until a person or a change asks for another check
RETRY_S = 30.0
_CHECKING = "it is being checked"
_LONGEST = 300  # characters of an error message that is quoted


def fingerprint(uuid: str, driver: str | None, packages: Mapping[str, str]) -> str:
    """What a result depends on: another card, driver or package asks for a new check."""
    told = json.dumps([uuid, driver, sorted(packages.items())])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class CheckEnd:
    """How the checking process ended. `status`: None where it was killed at its deadline.

    `free_bytes`: of the GPU before the check, as the driver reported it.
    """

    document: Mapping[str, Any]  # {}: it wrote none
    log: str
    status: int | None
    seconds: float
    free_bytes: int | None = None


@dataclass(frozen=True)
class Verdict:
    """`is_undecided`: the check could not be made now. It counts as no failure, and is made again."""

    problem: str | None
    is_undecided: bool = False

    @property
    def ok(self) -> bool:
        return self.problem is None


def judge(end: CheckEnd) -> Verdict:
    """Whether the GPU is good; otherwise what is wrong, in a sentence that says what to do."""
    found, log = end.document, f"{end.document.get('error') or ''}\n{end.log}"
    if end.status is None:
        return Verdict(
            f"the check did not end within {end.seconds:.0f} s ({_stage(found)}): see dmesg for Xid; reboot the host "
            "if it stays so. A card that has to compile its kernels first may need a longer DOWNSHIFT_QUALIFY_S"
        )
    refusal = found.get("refusal")
    if isinstance(refusal, str):
        return Verdict(refusal)
    if end.status == 0 and not found.get("error") and found.get("gpus") == 1:
        return _of_precisions(found)
    if cuda_errors.is_out_of_memory(log):
        return Verdict("it has too little free memory to be checked: other processes hold it", is_undecided=True)
    if found.get("gpus") == 0 and not found.get("cudnn"):
        return Verdict(
            "TensorFlow sees no GPU: the CPU packages are installed on a host with a GPU: "
            "make env installs the others where there is an NVIDIA driver; then restart the worker"
        )
    known = cuda_errors.sentence_for(log)
    if known:
        return Verdict(known)
    if end.status < 0:
        return Verdict(
            f"the check was ended by {_signal(-end.status)} ({_stage(found)}): a library that does not fit the card, "
            "or a broken driver; its log has more"
        )
    if found.get("gpus") == 0:
        return Verdict("TensorFlow sees no GPU although the driver lists it: the check's log says why")
    if isinstance(found.get("gpus"), int) and found["gpus"] > 1:
        return Verdict(f"TensorFlow sees {found['gpus']} GPUs instead of one: its uuid does not select it")
    return Verdict(f"the check failed ({_stage(found)}): {_shortened(found.get('error')) or 'its log says why'}")


def _of_precisions(found: Mapping[str, Any]) -> Verdict:
    tried = found.get("precisions")
    if not isinstance(tried, Mapping) or not tried:
        return Verdict("the check computed nothing: its log says why")
    failed = {name: text for name, text in tried.items() if text != "ok"}
    if not failed:
        return Verdict(None)
    said = " ".join(str(text) for text in failed.values())
    if cuda_errors.is_out_of_memory(said):
        return Verdict("it has too little free memory to be checked: other processes hold it", is_undecided=True)
    known = cuda_errors.sentence_for(said)
    return Verdict(known or f"it does not compute in {', '.join(failed)}: {_shortened(next(iter(failed.values())))}")


def _stage(found: Mapping[str, Any]) -> str:
    return f"last step: {found.get('stage') or 'importing TensorFlow'}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _shortened(text: Any) -> str:
    return " ".join(str(text or "").split())[:_LONGEST]


def result_of(
    end: CheckEnd, before: Mapping[str, Any] | None, fingerprint: str, driver: str | None, at: datetime.datetime
) -> dict[str, Any]:
    """The result to keep. `before`: the one before it."""
    verdict, found = judge(end), end.document
    earlier = before if before and before.get("fingerprint") == fingerprint else {}
    failures = int(earlier.get("failures_in_a_row") or 0)
    capability = found.get("capability")
    return {
        "ok": verdict.ok,
        "failures_in_a_row": 0 if verdict.ok else failures if verdict.is_undecided else failures + 1,
        "at": at.isoformat(),
        "seconds": round(end.seconds, 1),
        "problem": verdict.problem,
        "capability": ".".join(str(part) for part in capability) if isinstance(capability, list | tuple) else None,
        "free_bytes": end.free_bytes,
        "limit_bytes": found.get("limit_bytes") if isinstance(found.get("limit_bytes"), int) else None,
        "versions": {
            "driver": driver,
            **{name: _text(found.get(name)) for name in ("cuda", "cudnn", "tensorflow")},
        },
        "precisions": _precisions(found.get("precisions")),
        "fingerprint": fingerprint,
    }


def _text(value: Any) -> str | None:
    return value[:64] if isinstance(value, str) else None


def _precisions(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name)[:16]: _shortened(text) for name, text in list(value.items())[:8]}


def is_due(
    result: Mapping[str, Any] | None, fingerprint: str, asked: datetime.datetime | None, now: datetime.datetime
) -> bool:
    """Whether a check is to be made now. `asked`: since when one is wanted, whatever the last result says."""
    if result is None or result.get("fingerprint") != fingerprint or asked is not None:
        return True
    if result.get("ok") or (result.get("failures_in_a_row") or 0) >= MOST_FAILURES:
        return False
    return now >= datetime.datetime.fromisoformat(result["at"]) + datetime.timedelta(seconds=RETRY_S)


def problem_of(result: Mapping[str, Any] | None, fingerprint: str, asked: datetime.datetime | None) -> str | None:
    """Why no job may start on the GPU; None if it is qualified."""
    if result is None or result.get("fingerprint") != fingerprint:
        return f"{_CHECKING} before its first job"
    if result.get("ok"):
        return None if asked is None else f"{_CHECKING} again"
    problem = result.get("problem") or "its check failed"
    if asked is not None or (result.get("failures_in_a_row") or 0) < MOST_FAILURES:
        return f"{problem} ({_CHECKING} again)"
    return str(problem)


def is_being_checked(problem: str | None) -> bool:
    """Whether a device's problem is, or may end with, a check that runs or is due."""
    return problem is not None and _CHECKING in problem
