"""What a queued job waits for, in words: it is asked for while devices are free that do not hold it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from services.devices.capacity import Capacity, capacities_of, largest_device
from services.devices.holders import neighbours
from services.domain.sizes import in_mb
from services.store.models import Device

__all__ = ["for_a_device", "for_host", "for_memory", "for_repair"]


def for_a_device(
    free: Sequence[Device], present: Iterable[Capacity], holders: Mapping[str, str], suits: Callable[[Capacity], bool]
) -> str | None:
    """The device that would hold the job and why it does not have it yet; None where it is about to.

    `holders`: what runs, by device, as the job's owner may hear of it. `suits`: would the whole device hold the job?
    """
    here = [device for device in capacities_of(free) if suits(device)]
    if here:
        return for_memory(free, here)
    wanted = sorted((device for device in present if suits(device)), key=lambda device: device.total_bytes)
    busy = [device for device in wanted if device.device_id in holders]
    if busy:
        more = f", or for one of {len(busy) - 1} others" if len(busy) > 1 else ""
        return f"Waits for {_named(busy[0])}, busy with {holders[busy[0].device_id]}{more}"
    if wanted:
        return for_repair(wanted)
    return for_memory(free, capacities_of(free))


def for_memory(free: Sequence[Device], found: Sequence[Capacity]) -> str | None:
    largest = largest_device(found)
    if largest is None:
        return None
    processes = next(device.processes for device in free if device.id == largest.device_id)
    holder = neighbours(processes, largest.name)
    return (
        f"Waits for a device with enough free memory: {largest.name} has {in_mb(largest.free_bytes)} free"
        f"{', ' if holder else ''}{holder}"
    )


def for_host(absent: Capacity) -> str:
    return f"Waits for {absent.device_id}: its host has not reported lately"


def for_repair(wanted: Iterable[Capacity]) -> str | None:
    broken = [device for device in wanted if device.problem is not None]
    return f"Waits for {_named(broken[-1])}: {broken[-1].problem}" if broken else None


def _named(device: Capacity) -> str:
    size = f", {in_mb(device.size_bytes)}" if device.size_bytes else ""
    return f"{device.name} ({device.device_id}{size})"
