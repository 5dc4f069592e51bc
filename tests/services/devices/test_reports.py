"""What a host reports of its devices, and what is made of it."""

from services.domain.contract import Reason
from services.store.models import Device
from tests.support.desk import GB, MB, Desk, ago, gpu, slot


def test_a_device_is_kept_as_it_was_seen_last(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 20 * GB, others=3 * GB))
    device = desk.device("gpu-0")
    assert (device.id, device.host, device.total_bytes, device.free_bytes) == ("box/gpu-0", "box", 24 * GB, 20 * GB)
    assert device.processes == [{"pid": 4711, "name": "python", "used_bytes": 3 * GB}]
    desk.change(Device, "box/gpu-0", seen_at=ago(100))
    desk.report(gpu(0, 24 * GB, 24 * GB))
    device = desk.device("gpu-0")
    assert (device.free_bytes, device.processes) == (24 * GB, [])
    assert device.seen_at > ago(10)


def test_a_device_that_is_gone_goes_unless_a_job_is_on_it(desk: Desk) -> None:
    desk.slots(4000, 100)
    claim = desk.claimed()
    desk.report()
    [device] = desk.rows(Device)
    assert device.id == claim.device_id
    assert device.problem == "its host no longer detects it"
    desk.end(claim, Reason.STOPPED)
    desk.report()
    assert desk.rows(Device) == []


def test_each_host_tells_of_its_own(desk: Desk) -> None:
    desk.slots(1000, host="one")
    desk.slots(2000, host="two")
    desk.report(host="one")
    assert [device.id for device in desk.rows(Device)] == ["two/cpu-0"]


def test_a_problem_comes_and_goes_with_the_report(desk: Desk) -> None:
    desk.report(slot(0, 1000, problem="the disk has 3 MB left"))
    assert desk.device("cpu-0").problem == "the disk has 3 MB left"
    since = desk.device("cpu-0").problem_since
    assert since == desk.device("cpu-0").seen_at
    desk.report(slot(0, 1000, problem="the disk has 2 MB left"))
    assert desk.device("cpu-0").problem_since == since
    desk.report(slot(0, 1000))
    assert (desk.device("cpu-0").problem, desk.device("cpu-0").problem_since) == (None, None)


def test_a_gpu_whose_memory_is_still_held_after_a_job_waits_until_it_is_free(desk: Desk) -> None:
    display = 500 * MB  # in use by nobody that the driver names, before and after
    desk.report(gpu(0, 24 * GB, 20 * GB - display, others=4 * GB))
    claim = desk.claimed()
    assert desk.device("gpu-0").baseline_bytes == display
    desk.report(gpu(0, 24 * GB, 10 * GB, others=4 * GB))
    assert desk.device("gpu-0").problem is None  # it is in use, not left over
    desk.end(claim, Reason.COMPLETED)
    desk.report(gpu(0, 24 * GB, 12 * GB, others=4 * GB))
    device = desk.device("gpu-0")
    assert "7692 MB are still in use after the last job ended" in (device.problem or "")
    desk.submit()
    assert desk.claim() is None
    desk.report(gpu(0, 24 * GB, 20 * GB - display - 100 * MB, others=4 * GB))
    device = desk.device("gpu-0")
    assert (device.problem, device.baseline_bytes) == (None, None)
    assert desk.claim() is not None


def test_a_neighbour_that_came_meanwhile_is_not_our_leftover(desk: Desk) -> None:
    desk.report(gpu(0, 24 * GB, 24 * GB))
    claim = desk.claimed()
    desk.end(claim, Reason.COMPLETED)
    desk.report(gpu(0, 24 * GB, 4 * GB, others=20 * GB))
    assert desk.device("gpu-0").problem is None


def test_a_cpu_slot_has_nothing_left_over(desk: Desk) -> None:
    desk.slots(4000)
    desk.end(desk.claimed(), Reason.COMPLETED)
    desk.report(slot(0, 4000, free_mb=10))
    assert desk.device("cpu-0").problem is None
