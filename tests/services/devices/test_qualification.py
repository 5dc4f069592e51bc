"""A GPU gets no job before it has passed its check, and which one is checked next."""

import dataclasses
from typing import Any

from services.clock import utc_now
from services.devices import qualification
from services.devices.qualification import DueCheck
from services.domain.contract import Reason
from services.domain.gpus.qualification import CheckEnd
from services.store.models import Device
from tests.support.desk import GB, Desk, ago, gpu
from tests.support.training.fake_qualifier import GOOD


def due(desk: Desk, **fingerprints: str) -> str | None:
    given = {key.replace("_", "-"): value for key, value in fingerprints.items()}
    found = qualification.next_due(desk.store, "box", given)
    return found.key if found else None


def check(desk: Desk, key: str, status: int = 0, fingerprint: str = "a", **found: Any) -> None:
    end = CheckEnd({**GOOD, **found}, "", status, 1.0)
    qualification.record(desk.store, DueCheck(f"box/{key}", key, fingerprint), end, utc_now())


def report(desk: Desk, fingerprint: str = "a") -> str | None:
    desk.report(gpu(0, 24 * GB, 24 * GB, fingerprint=fingerprint))
    return desk.device("gpu-0").problem


def test_a_gpu_that_was_not_checked_gets_no_job(desk: Desk) -> None:
    assert report(desk) == "it is being checked before its first job"
    desk.submit()
    assert desk.claim() is None
    check(desk, "gpu-0")
    assert report(desk) is None
    assert desk.claim() is not None


def test_a_result_holds_while_its_fingerprint_is_the_same(desk: Desk) -> None:
    report(desk)
    check(desk, "gpu-0")
    assert (report(desk), due(desk, gpu_0="a")) == (None, None)
    assert report(desk, "b") == "it is being checked before its first job"
    assert due(desk, gpu_0="b") == "gpu-0"


def test_after_an_xid_of_the_card_it_is_checked_again_and_the_xid_stays_shown(desk: Desk) -> None:
    def report_xid(code: int | None) -> str | None:
        xid = None if code is None else {"code": code, "at": "2026-11-18T10:00:00Z", "meaning": "…"}
        desk.report(gpu(0, 24 * GB, 24 * GB, fingerprint="a", health={"xid": xid}))
        return desk.device("gpu-0").problem

    report_xid(None)
    check(desk, "gpu-0")
    assert report_xid(31) is None  # a program's fault
    assert "is being checked" in (report_xid(48) or "")
    assert due(desk, gpu_0="a") == "gpu-0"
    check(desk, "gpu-0")
    assert report_xid(48) is None  # the same one
    assert report_xid(None) is None  # the worker was started again
    assert ((desk.device("gpu-0").health or {})["xid"] or {})["code"] == 48
    desk.report(
        dataclasses.replace(gpu(0, 24 * GB, 24 * GB, fingerprint="a"), uuid="GPU-another", health={"xid": None})
    )
    assert (desk.device("gpu-0").health or {})["xid"] is None  # another card in its place


def test_after_a_second_failure_the_device_is_in_quarantine_until_it_is_asked_for(desk: Desk) -> None:
    report(desk)
    check(desk, "gpu-0", -11)
    assert "SIGSEGV" in (report(desk) or "")
    assert due(desk, gpu_0="a") is None  # not at once
    check(desk, "gpu-0", -11)
    problem = report(desk)
    assert problem is not None
    assert not problem.endswith("(it is being checked again)")
    desk.submit()
    assert desk.claim() is None
    qualification.ask(desk.store, desk.admin, "box/gpu-0")
    assert due(desk, gpu_0="a") == "gpu-0"
    assert (report(desk) or "").endswith("(it is being checked again)")
    check(desk, "gpu-0")
    assert report(desk) is None


def test_a_running_job_goes_on_and_the_check_waits_for_its_end(desk: Desk) -> None:
    report(desk)
    check(desk, "gpu-0")
    report(desk)
    claim = desk.claimed()
    desk.change(Device, "box/gpu-0", qualify_since=utc_now())
    assert report(desk) is None
    assert due(desk, gpu_0="a") is None
    desk.end(claim, Reason.STOPPED)
    assert report(desk) == "it is being checked again"
    assert due(desk, gpu_0="a") == "gpu-0"


def test_a_request_during_a_check_is_not_lost(desk: Desk) -> None:
    report(desk)
    desk.change(Device, "box/gpu-0", qualify_since=utc_now())
    end = CheckEnd(GOOD, "", 0, 1.0)
    qualification.record(desk.store, DueCheck("box/gpu-0", "gpu-0", "a"), end, ago(60))
    assert due(desk, gpu_0="a") == "gpu-0"


def test_a_worker_that_starts_checks_again_what_failed(desk: Desk) -> None:
    desk.report(*(gpu(number, 24 * GB, 24 * GB, fingerprint="a") for number in (0, 1)))
    for _ in range(2):
        check(desk, "gpu-0", -11)
    check(desk, "gpu-1")
    assert due(desk, gpu_0="a", gpu_1="a") is None
    qualification.ask_again_for_failed(desk.store, "box")
    assert due(desk, gpu_0="a", gpu_1="a") == "gpu-0"
    check(desk, "gpu-0", -11)
    assert (desk.device("gpu-0").qualification or {})["failures_in_a_row"] == 3


def test_the_device_that_was_checked_longest_ago_is_next(desk: Desk) -> None:
    desk.report(*(gpu(number, 24 * GB, 24 * GB, fingerprint="a") for number in (0, 1, 2)))
    check(desk, "gpu-0")
    check(desk, "gpu-1")
    new = {f"gpu_{number}": "b" for number in (0, 1, 2)}
    assert due(desk, **new) == "gpu-2"
    check(desk, "gpu-2", fingerprint="b")
    assert due(desk, **new) == "gpu-0"


def test_a_device_that_is_gone_when_its_check_ends_is_left_alone(desk: Desk) -> None:
    end = CheckEnd(GOOD, "", 0, 1.0)
    assert qualification.record(desk.store, DueCheck("box/gpu-9", "gpu-9", "a"), end, utc_now()) is None
