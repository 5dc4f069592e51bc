"""Allowed values of DOWNSHIFT_DEVICES and CUDA_VISIBLE_DEVICES, and what they mean."""

import pytest

from worker.devices.gpu.cuda_visible import Place, visible
from worker.devices.parse_setting import DeviceSetting, DeviceSettingError, parse_devices


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("auto", DeviceSetting(auto=True)),
        (" AUTO ", DeviceSetting(auto=True)),
        ("cpu:2048,cpu:4096", DeviceSetting(slots_mb=(2048, 4096))),
        ("cpu:2048, cpu:2048", DeviceSetting(slots_mb=(2048, 2048))),
        ("gpu", DeviceSetting(every_gpu=True)),
        ("gpu:2,gpu:0", DeviceSetting(gpus=(2, 0))),
        ("gpu:0,cpu:2048", DeviceSetting(gpus=(0,), slots_mb=(2048,))),
        ("cpu:2048,gpu", DeviceSetting(every_gpu=True, slots_mb=(2048,))),
    ],
)
def test_an_allowed_setting_is_parsed(text: str, setting: DeviceSetting) -> None:
    assert parse_devices(text) == setting


@pytest.mark.parametrize(
    ("text", "part", "what"),
    [
        ("", "''", "is not a device"),
        ("gpu:0,,cpu:1", "''", "is not a device"),
        ("tpu", "'tpu'", "is not a device"),
        ("gpu:0,auto", "'auto'", "is not a device"),
        ("cpu:2GB", "'cpu:2gb'", "is not a device"),
        ("cpu:-5", "'cpu:-5'", "is not a device"),
        ("cpu:٣", "'cpu:٣'", "is not a device"),
        ("gpu:x", "'gpu:x'", "is not a device"),
        ("cpu", "'cpu'", "needs its limit"),
        ("cpu:0", "'cpu:0'", "between 1 and"),
        ("cpu:99999999", "'cpu:99999999'", "between 1 and"),
        ("gpu:1024", "'gpu:1024'", "below 1024"),
        ("gpu:1,gpu:1", "'gpu:1'", "second time"),
        ("gpu,gpu:1", "'gpu:1'", "second time"),
        ("gpu:1,gpu", "'gpu'", "second time"),
        ("gpu,gpu", "'gpu'", "second time"),
    ],
)
def test_an_error_names_the_wrong_part_and_what_is_allowed(text: str, part: str, what: str) -> None:
    with pytest.raises(DeviceSettingError) as raised:
        parse_devices(text)

    message = str(raised.value)
    assert message.startswith(f"DOWNSHIFT_DEVICES: {part}: ")
    assert what in message
    assert "gpu:INDEX" in message
    assert "cpu:MB" in message


CARDS = {0: "GPU-aa00", 1: "GPU-ab11", 2: "GPU-cc22", 3: None}


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (None, {0, 1, 2, 3}),
        ("", set()),
        ("-1", set()),
        ("2,0", {0, 2}),
        (" 1 , 3 ", {1, 3}),
        ("0,9,1", {0}),  # CUDA stops at the first unknown entry
        ("1,-1,2", {1}),
        ("GPU-cc22", {2}),
        ("gpu-cc", {2}),
        ("GPU-a", set()),  # fits two cards
        ("GPU-ab11,GPU-aa00", {0, 1}),
        ("MIG-aa00", set()),
        ("NoDevFiles", set()),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(value: str | None, numbers: set[int]) -> None:
    assert visible(value, CARDS, {(number, None): uuid for number, uuid in CARDS.items()}) == {
        (number, None) for number in numbers
    }


@pytest.mark.parametrize(
    ("value", "places"),
    [
        (None, {(0, 0), (0, 3), (1, None)}),
        ("0", {(0, 0), (0, 3)}),  # a GPU with MIG stands for all its instances
        ("GPU-aa", {(0, 0), (0, 3)}),
        ("MIG-33", {(0, 3)}),
        ("MIG-33,1", {(0, 3), (1, None)}),
        ("MIG-", set()),  # fits two
        ("MIG-99,1", set()),
    ],
)
def test_mig_instances_are_named_by_their_uuids(value: str | None, places: set[Place]) -> None:
    devices: dict[Place, str | None] = {(0, 0): "MIG-11", (0, 3): "MIG-33", (1, None): "GPU-bb"}
    assert visible(value, {0: "GPU-aa", 1: "GPU-bb"}, devices) == places


def test_mig_instances_are_named_with_their_gpu() -> None:
    found = parse_devices("gpu:0:1, gpu:0:3,gpu:2,cpu:64")
    assert (found.instances, found.gpus, found.slots_mb, found.wants_gpus) == (((0, 1), (0, 3)), (2,), (64,), True)
    assert parse_devices("gpu:1:0").wants_gpus


@pytest.mark.parametrize(
    "text", ["gpu:0:1,gpu:0:1", "gpu:0,gpu:0:1", "gpu:0:1,gpu", "gpu:0:2000", "gpu:9999:1", "gpu:0:"]
)
def test_an_instance_is_named_once_and_with_a_sensible_number(text: str) -> None:
    with pytest.raises(DeviceSettingError):
        parse_devices(text)
