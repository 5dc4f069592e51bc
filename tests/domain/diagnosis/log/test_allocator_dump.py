"""Numbers from the messages of allocators, in every spelling."""

import pytest

from services.domain.diagnosis.log.allocator_dump import Numbers, bytes_of, is_of_host
from services.domain.diagnosis.log.devices import DevicesSeen, memory_of_card


def read(*lines: str) -> Numbers:
    numbers = Numbers()
    for line in lines:
        numbers.take(line)
    return numbers


@pytest.mark.parametrize(
    ("line", "requested"),
    [
        ("Allocator (GPU_0_bfc) ran out of memory trying to allocate 74.16MiB.  Current", 77762396),
        (
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.07GiB (rounded to 3300000000)requested by op",
            3300000000,
        ),
        ("gpu_async_0 cuMemAllocAsync failed to allocate 1073741824 bytes: CUDA error", 1073741824),
        ("Out of memory while trying to allocate 17179869184 bytes.", 17179869184),
        ("Failed to allocate request for 4.50GiB (4831838208B) on device ordinal 0", 4831838208),
        ("OOM when allocating tensor with shape[10,20] and type double on /device:GPU:0", 1600),
        ("OOM when allocating tensor of shape [10,20] and type half", 400),
        ("OOM when allocating tensor with shapedim { size: 10 } dim { size: 20 }", 800),
        ("OOM when allocating tensor with shape[]", None),
    ],
)
def test_the_request(line: str, requested: int | None) -> None:
    assert read(line).requested == requested


def test_the_allocators_size_is_preferred_to_the_tensors() -> None:
    numbers = read(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.0KiB (rounded to 1024)requested by op conv",
        "OOM when allocating tensor with shape[10,20] and type float on /device:GPU:0 by allocator GPU_0_bfc",
    )
    assert (numbers.requested, numbers.shape, numbers.op) == (1024, "[10,20]", "conv")


def test_a_limit_of_0_means_no_limit() -> None:
    assert read("Stats: Limit:       0", "InUse:   10", "MaxInUse:  20", "LargestFreeBlock:   0") == Numbers(
        in_use=10, peak=20
    )


@pytest.mark.parametrize(
    ("allocator", "of_host"),
    [
        ("cpu", True),
        ("mklcpu", True),
        ("cuda_host_bfc", True),
        ("gpu_host_bfc", True),
        ("GPU_0_bfc", False),
        ("gpu_async_0", False),
        ("bfc_cpu_allocator_for_gpu", False),
    ],
)
def test_the_allocators_name_shows_host_or_device(allocator: str, of_host: bool) -> None:
    assert is_of_host(read(f"OOM on /device:CPU:0 by allocator {allocator}")) is of_host


def test_a_failed_copy_belongs_to_its_destination() -> None:
    line = (
        "Failed copying input tensor from /device:CPU:0 to /device:GPU:0 in order to run _EagerConst: Dst tensor is not"
    )
    assert read(line).device == "GPU:0"


def test_sizes_are_binary() -> None:
    assert bytes_of("1.5", "GiB") == bytes_of("1.5", "G") == 1610612736
    assert bytes_of("1.5.1", "GiB") is None


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [("NVIDIA A100-SXM4-40GB", 40), ("NVIDIA A100-SXM4-40GB MIG 2g.10gb", 10), ("GeForce GTX 1060 6GB", 6)],
)
def test_the_name_of_a_card_may_state_its_memory(name: str, gigabytes: int) -> None:
    assert memory_of_card(name) == gigabytes * 2**30
    assert memory_of_card("Tegra X1") is None


def test_each_device_has_its_own_numbers() -> None:
    seen = DevicesSeen()
    for number, line in enumerate(
        [
            "Found device 0 with properties:",
            "totalMemory: 8.00GiB freeMemory: 7.50GiB",
            "Found device 1 with properties:",
            "totalMemory: 8.00GiB freeMemory: 1.00GiB",
        ]
    ):
        seen.take(number, line)
    assert seen.of("GPU:0", None, 99).free == 7.5 * 2**30
    assert seen.of("GPU:1", None, 99).free == 2**30
    assert seen.of("GPU:2", None, 99).free is None
