"""The training that goes on after the service has stopped, as stored in the database."""

from contextlib import closing

from services.domain.jobs.states import State
from services.settings import Settings
from services.store import jobs
from services.store.devices import leases
from services.store.engine import Store

__all__ = ["describe_jobs"]


def describe_jobs(settings: Settings) -> list[str]:
    """One line for each job that is training on this host."""
    lines = []
    with closing(Store.open(settings.database_url)) as store, store.reading() as session:
        for lease in leases.of_host(session, settings.host):
            job = jobs.get(session, lease.job_id)
            if job and job.state == State.RUNNING:
                device = lease.device_id.removeprefix(f"{lease.host}/")
                lines.append(f"job {job.id} (attempt {lease.attempt}, step {job.step}/{job.steps}) on {device}")
    return lines
