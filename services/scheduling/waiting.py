"""Find out what a queued job waits for, while devices are free that do not hold it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from services.devices.capacity import Capacity, capacities_of, largest_device
from services.domain.jobs.waiting import Holder, WaitedDevice, Waiting, WaitKind
from services.store.models import Device

__all__ = ["for_a_device", "for_host", "for_memory", "for_repair"]


def for_a_device(
    free: Sequence[Device],
    present: Iterable[Capacity],
    holders: Mapping[str, Holder],
    suits: Callable[[Capacity], bool],
) -> Waiting | None:
    """The device that would hold the job and why it does not have it yet; None where it is about to.

    `holders`: the jobs that run, by device, as far as the job's owner may know. `suits`: would the whole device hold
    the job?
    """
    here = [device for device in capacities_of(free) if suits(device)]
    if here:
        return for_memory(free, here)
    wanted = sorted((device for device in present if suits(device)), key=lambda device: device.usable_bytes)
    busy = [device for device in wanted if device.device_id in holders]
    if busy:
        first = busy[0]
        return Waiting(WaitKind.BUSY_DEVICE, _device(first), holders[first.device_id], others=len(busy) - 1)
    if wanted:
        return for_repair(wanted)
    return for_memory(free, capacities_of(free))


def for_memory(free: Sequence[Device], found: Sequence[Capacity]) -> Waiting | None:
    largest = largest_device(found)
    if largest is None:
        return None
    processes = next(device.processes for device in free if device.id == largest.device_id)
    holder = Holder(processes=tuple(processes))
    return Waiting(WaitKind.FREE_MEMORY, _device(largest), holder, free_bytes=largest.free_bytes)


def for_host(absent: Capacity) -> Waiting:
    return Waiting(WaitKind.HOST, _device(absent))


def for_repair(wanted: Iterable[Capacity]) -> Waiting | None:
    broken = [device for device in wanted if device.problem is not None]
    return Waiting(WaitKind.REPAIR, _device(broken[-1]), detail=broken[-1].problem) if broken else None


def _device(capacity: Capacity) -> WaitedDevice:
    return WaitedDevice(capacity.device_id, capacity.name, capacity.size_bytes)
