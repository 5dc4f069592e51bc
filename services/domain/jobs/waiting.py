"""What a queued job waits for, where no device is large enough for it."""

from services.domain.sizes import in_mb

__all__ = ["for_larger", "for_size"]


def for_size(least_bytes: int) -> str:
    """Of a job that says how much memory its device must have; 0 where it does not."""
    if not least_bytes:
        return "Waits for a free device"
    return f"Waits for a device with at least {in_mb(least_bytes)} of memory"


def for_larger(why: str) -> str:
    """`why`: the sentences that say what the job needs and what there is."""
    return f"Waits for a larger device. {why}"
