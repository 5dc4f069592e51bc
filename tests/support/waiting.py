"""What a queued job waits for, as its row has it."""

from services.domain.jobs.waiting import Waiting
from services.store.models import Job

__all__ = ["waits_for"]


def waits_for(job: Job) -> str:
    """In words; "" where it waits for its turn."""
    return Waiting.from_dict(job.waiting_for).sentence if job.waiting_for else ""
