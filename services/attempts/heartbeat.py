"""The heartbeat of a supervisor: renews the lease and tells whether the job's owner wants it to stop."""

import datetime
from dataclasses import dataclass

from services.clock import utc_now
from services.domain.jobs.states import Stop
from services.store import attempts, jobs
from services.store.devices import leases
from services.store.engine import Store

__all__ = ["beat"]


@dataclass(frozen=True)
class Heartbeat:
    held: bool  # False: the lease is lost, and the caller must not change anything of the job
    stop: Stop | None


def beat(
    store: Store, job_id: int, number: int, token: str, lease_s: float, trainer_started: datetime.datetime
) -> Heartbeat:
    with store.transaction() as session:
        if not leases.renew(session, job_id, token, utc_now() + datetime.timedelta(seconds=lease_s)):
            return Heartbeat(held=False, stop=None)
        attempt, job = attempts.get(session, job_id, number), jobs.get(session, job_id)
        if attempt is not None and attempt.trainer_started_at is None:
            attempt.trainer_started_at = trainer_started
        return Heartbeat(held=True, stop=Stop(job.stop) if job and job.stop else None)
