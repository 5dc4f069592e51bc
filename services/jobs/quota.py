"""Limits at submission: the number of waiting jobs of a user, and their priority. `services.usage` limits running
jobs."""

from sqlalchemy.orm import Session

from services.clock import utc_now
from services.domain.jobs.states import State
from services.errors import Fault, Invalid, LimitReached
from services.settings import Settings
from services.store import jobs
from services.store.devices import use as device_use
from services.usage import of_user
from services.users.principal import Principal

__all__ = ["DEFAULT_PRIORITY", "check_priority", "require_queue_quota"]

DEFAULT_PRIORITY = 0  # only admins may exceed it: otherwise everybody would send the highest number


def require_queue_quota(session: Session, settings: Settings, user_id: int, *, is_new: bool = True) -> None:
    """Raises LimitReached unless one more job of this user may wait. Locks the user against concurrent submissions.

    `is_new`: False for a job that already counts as unfinished, such as a paused one.
    """
    device_use.lock_user(session, user_id)
    counts = jobs.count_of(session, user_id)
    active, queued = sum(counts.values()), counts.get(State.QUEUED, 0)
    if is_new and active >= settings.max_jobs_per_user:
        raise LimitReached(
            f"you already have {active} of {settings.max_jobs_per_user} unfinished jobs: "
            f"cancel one, or wait until one finishes"
        )
    owner = of_user(session, settings, utc_now(), user_id)
    if owner.limits.max_queued is not None and queued >= owner.limits.max_queued:
        raise LimitReached(
            f"{owner.name} already has {queued} of {owner.limits.max_queued} queued jobs: "
            f"cancel one, or wait until one starts"
        )


def check_priority(principal: Principal, priority: int, current: int = DEFAULT_PRIORITY) -> None:
    """Raises Invalid unless the caller may give a job this priority. Everybody may lower one."""
    if priority > max(DEFAULT_PRIORITY, current) and not principal.is_admin:
        raise Invalid(
            [Fault("priority", f"must be at most {DEFAULT_PRIORITY}: only admins can put a job ahead of the queue")]
        )
