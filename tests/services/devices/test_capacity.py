"""What a job can have of a device."""

import dataclasses

from services.devices.capacity import Capacity, capacities_of
from services.domain.memory.gpu_limit import limit_of_whole, overhead_bytes
from services.store.models import Device
from tests.support.desk import GB, MB, Desk, gpu

CARD = dataclasses.replace(gpu(0, 8 * GB, 7 * GB), capability="8.6")


def capacity(desk: Desk) -> Capacity:
    return capacities_of(desk.rows(Device))[0]


def test_a_desktops_memory_is_not_planned_with(desk: Desk) -> None:
    desktop = {"pid": 7, "name": "Xorg", "used_bytes": 400 * MB, "is_display": True}
    job = {"pid": 8, "name": "python", "used_bytes": 3 * GB, "is_display": False}
    desk.report(dataclasses.replace(CARD, processes=(desktop, job)))
    assert capacity(desk).usable_bytes == limit_of_whole(8 * GB, (8, 6)) - 400 * MB


def test_a_check_of_the_card_says_what_tensorflow_keeps_back(desk: Desk) -> None:
    desk.report(CARD)
    assert capacity(desk).free_bytes == min(7 * GB - overhead_bytes((8, 6)), capacity(desk).usable_bytes)
    assert capacity(desk).hardware == "capability 8.6"
    checked = {"free_bytes": 7 * GB, "limit_bytes": 7 * GB - 1700 * MB, "versions": {"cudnn": "9.3.0"}}
    desk.change(Device, "box/gpu-0", qualification=checked)
    assert capacity(desk).free_bytes == 7 * GB - 1700 * MB
    assert capacity(desk).hardware == "capability 8.6, cuDNN 9.3"


def test_figures_of_a_check_that_make_no_sense_are_ignored(desk: Desk) -> None:
    desk.report(CARD)
    before = capacity(desk).free_bytes
    desk.change(Device, "box/gpu-0", qualification={"free_bytes": GB, "limit_bytes": 2 * GB})
    assert capacity(desk).free_bytes == before
