"""What a check's findings come to: the verdict, the result that is kept, and when the next check is due."""

import datetime
from typing import Any

import pytest

from services.domain.gpus.qualification import (
    RETRY_S,
    CheckEnd,
    fingerprint,
    is_due,
    judge,
    problem_of,
    result_of,
)
from tests.support.training.fake_qualifier import GOOD

NOW = datetime.datetime(2026, 11, 18, 12, tzinfo=datetime.UTC)


def ended(status: int | None = 0, log: str = "", **found: Any) -> CheckEnd:
    return CheckEnd({**GOOD, **found}, log, status, 7.0, 7_500_000_000)


def result(end: CheckEnd, before: dict[str, Any] | None = None, print_: str = "a") -> dict[str, Any]:
    return result_of(end, before, print_, "550.1", NOW)


def test_a_card_that_computes_in_each_precision_is_good() -> None:
    assert judge(ended()).ok
    assert result(ended()) == {
        "ok": True,
        "failures_in_a_row": 0,
        "at": "2026-11-18T12:00:00+00:00",
        "seconds": 7.0,
        "problem": None,
        "capability": "8.6",
        "free_bytes": 7_500_000_000,
        "limit_bytes": 6_000_000_000,
        "versions": {"driver": "550.1", "cuda": "12.9.79", "cudnn": "9.10.2.21", "tensorflow": "2.20.0"},
        "precisions": {"float32": "ok", "float16": "ok", "bfloat16": "ok"},
        "fingerprint": "a",
    }


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (ended(None), "did not end within 7 s (last step: computing in bfloat16)"),
        (ended(refusal="this is a Blackwell card"), "Blackwell"),
        (ended(gpus=0, cudnn=None), "the CPU packages are installed"),
        (ended(gpus=0, log="failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY"), "fabric manager"),
        (ended(gpus=0), "although the driver lists it"),
        (ended(gpus=2), "sees 2 GPUs"),
        (ended(-11), "SIGSEGV"),
        (ended(1, error="InternalError: something new"), "something new"),
        (ended(1, log="CUDA_ERROR_UNKNOWN"), "nvidia_uvm"),
        (ended(precisions={"float32": "ok", "float16": "a convolution is wrong by nan"}), "compute in float16"),
        (ended(precisions={"float32": "CUDA_ERROR_LAUNCH_FAILED"}), "Xid"),
        (ended(precisions={}), "computed nothing"),
        (CheckEnd({}, "", 1, 1.0), "importing TensorFlow"),
    ],
)
def test_each_defect_has_a_sentence(end: CheckEnd, said: str) -> None:
    verdict = judge(end)
    assert said in (verdict.problem or "")
    assert not verdict.is_undecided


@pytest.mark.parametrize(
    "end",
    [
        ended(1, log="CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        ended(precisions={"float32": "RESOURCE_EXHAUSTED: OOM when allocating tensor"}),
    ],
)
def test_a_card_that_others_fill_is_not_blamed_and_is_checked_again(end: CheckEnd) -> None:
    found = result(end, result(ended(-11)))
    assert (found["ok"], found["failures_in_a_row"]) == (False, 1)
    assert "free memory" in found["problem"]
    assert is_due(found, "a", None, NOW + datetime.timedelta(seconds=RETRY_S))


def test_garbage_in_the_findings_breaks_nothing() -> None:
    found = result(ended(capability="x", limit_bytes="many", precisions=7, cuda=[1], tensorflow="x" * 1000))
    assert (found["ok"], found["capability"], found["limit_bytes"], found["precisions"]) == (False, None, None, {})
    assert found["versions"]["cuda"] is None
    assert len(found["versions"]["tensorflow"]) == 64


def test_two_failures_in_a_row_quarantine_and_a_success_ends_it() -> None:
    first = result(ended(-11))
    assert not is_due(first, "a", None, NOW)
    assert is_due(first, "a", None, NOW + datetime.timedelta(seconds=RETRY_S))
    assert "(it is being checked again)" in (problem_of(first, "a", None) or "")
    second = result(ended(-11), first)
    assert second["failures_in_a_row"] == 2
    assert not is_due(second, "a", None, NOW + datetime.timedelta(days=9))
    assert problem_of(second, "a", None) == second["problem"]
    assert is_due(second, "a", NOW, NOW)
    good = result(ended(), second)
    assert good["failures_in_a_row"] == 0
    assert problem_of(good, "a", None) is None
    assert not is_due(good, "a", None, NOW + datetime.timedelta(days=9))


def test_another_driver_package_or_card_asks_for_a_new_check() -> None:
    good = result(ended())
    assert is_due(good, "b", None, NOW)
    assert problem_of(good, "b", None) == "it is being checked before its first job"
    assert problem_of(None, "a", None) == "it is being checked before its first job"
    assert result(ended(-11), result(ended(-11), print_="old"))["failures_in_a_row"] == 1
    packages = {"tensorflow": "2.20.0"}
    prints = {
        fingerprint("GPU-1", "550", packages),
        fingerprint("GPU-2", "550", packages),
        fingerprint("GPU-1", "560", packages),
        fingerprint("GPU-1", "550", {"tensorflow": "2.21.0"}),
    }
    assert len(prints) == 4


def test_a_request_makes_it_due_and_keeps_jobs_away() -> None:
    good = result(ended())
    assert is_due(good, "a", NOW, NOW)
    assert problem_of(good, "a", NOW) == "it is being checked again"
