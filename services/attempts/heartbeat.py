"""A supervisor's sign of life: it keeps the lease, and learns what the job's owner wants."""

import datetime
from dataclasses import dataclass

from services.clock import utc_now
from services.domain.jobs.states import Stop
from services.store import attempts, jobs, leases
from services.store.engine import Store

__all__ = ["Beat", "beat"]


@dataclass(frozen=True)
class Beat:
    held: bool  # False: somebody else has taken the job over; nothing of it may be touched any more
    stop: Stop | None


def beat(
    store: Store, job_id: int, number: int, token: str, lease_s: float, trainer_started: datetime.datetime
) -> Beat:
    with store.transaction() as session:
        if not leases.renew(session, job_id, token, utc_now() + datetime.timedelta(seconds=lease_s)):
            return Beat(held=False, stop=None)
        attempt, job = attempts.get(session, job_id, number), jobs.get(session, job_id)
        if attempt is not None and attempt.trainer_started_at is None:
            attempt.trainer_started_at = trainer_started
        return Beat(held=True, stop=Stop(job.stop) if job and job.stop else None)
