"""What a queued job waits for, in words: it is asked for while devices are free that do not hold it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from services.devices.holders import neighbours
from services.domain.sizes import in_mb
from services.planning import plan_job
from services.planning.plan_job import Room
from services.store.models import Device

__all__ = ["for_a_device", "for_larger", "for_memory", "for_repair", "for_size"]


def for_a_device(
    free: Sequence[Device], present: Iterable[Room], holders: Mapping[str, str], suits: Callable[[Room], bool]
) -> str | None:
    """The device that would hold the job and why it does not have it yet; None where it is about to.

    `holders`: what runs, by device, as the job's owner may hear of it. `suits`: would the whole device hold the job?
    """
    here = [room for room in plan_job.rooms(free) if suits(room)]
    if here:
        return for_memory(free, here)
    wanted = sorted((room for room in present if suits(room)), key=lambda room: room.total_bytes)
    busy = [room for room in wanted if room.device_id in holders]
    if busy:
        more = f", or for one of {len(busy) - 1} others" if len(busy) > 1 else ""
        return f"Waits for {_named(busy[0])}, busy with {holders[busy[0].device_id]}{more}"
    if wanted:
        return for_repair(wanted)
    return for_memory(free, plan_job.rooms(free))


def for_memory(free: Sequence[Device], found: Sequence[Room]) -> str | None:
    largest = plan_job.largest(found)
    if largest is None:
        return None
    processes = next(device.processes for device in free if device.id == largest.device_id)
    holder = neighbours(processes, largest.name)
    return (
        f"Waits for a device with enough free memory: {largest.name} has {in_mb(largest.free_bytes)} free"
        f"{', ' if holder else ''}{holder}"
    )


def for_size(least_bytes: int) -> str:
    """Of a job that says how much memory its device must have; 0 where it does not."""
    if not least_bytes:
        return "Waits for a free device"
    return f"Waits for a device with at least {in_mb(least_bytes)} of memory"


def for_larger(why: str) -> str:
    """`why`: the sentences that say what the job needs and what there is."""
    return f"Waits for a larger device. {why}"


def for_repair(wanted: Iterable[Room]) -> str | None:
    broken = [room for room in wanted if room.problem is not None]
    return f"Waits for {_named(broken[-1])}: {broken[-1].problem}" if broken else None


def _named(room: Room) -> str:
    size = f", {in_mb(room.size_bytes)}" if room.size_bytes else ""
    return f"{room.name} ({room.device_id}{size})"
