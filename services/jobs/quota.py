"""How many jobs a user may have waiting, and how far ahead. What may run is decided where jobs start
(`services.usage`)."""

from sqlalchemy.orm import Session

from services.clock import utc_now
from services.domain.jobs.states import State
from services.errors import Fault, Invalid, LimitReached
from services.settings import Settings
from services.store import device_use, jobs
from services.usage import of_user
from services.users.principal import Principal

__all__ = ["USUAL_PRIORITY", "check_priority", "require_room"]

USUAL_PRIORITY = 0  # only admins go above it: otherwise everybody would send the highest number


def require_room(session: Session, settings: Settings, user_id: int, *, is_new: bool = True) -> None:
    """May one more job of this user wait? Raises LimitReached. Others who ask the same wait for this transaction.

    `is_new`: it is not yet among the user's jobs; one that was paused is.
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


def check_priority(principal: Principal, priority: int, until_now: int = USUAL_PRIORITY) -> None:
    """May this one give a job that priority? Down anybody may go. Raises Invalid."""
    if priority > max(USUAL_PRIORITY, until_now) and not principal.is_admin:
        raise Invalid(
            [Fault("priority", f"must be at most {USUAL_PRIORITY}: only admins can put a job ahead of the queue")]
        )
