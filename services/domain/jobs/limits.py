"""The limits of one user."""

from dataclasses import dataclass

from services.domain.jobs.waiting import Waiting, WaitKind

__all__ = ["Limits", "blocked_by"]


@dataclass(frozen=True)
class Limits:
    """None: no limit."""

    max_queued: int | None = None
    max_running: int | None = None
    device_hours_week: float | None = None

    def over(self, defaults: "Limits") -> "Limits":
        """These limits, with the defaults where one is None."""
        return Limits(
            defaults.max_queued if self.max_queued is None else self.max_queued,
            defaults.max_running if self.max_running is None else self.max_running,
            defaults.device_hours_week if self.device_hours_week is None else self.device_hours_week,
        )


def blocked_by(name: str, limits: Limits, running: int, week_s: float, *, is_disabled: bool = False) -> Waiting | None:
    """Why none of this user's jobs may start now; None where one may."""
    if is_disabled:
        return Waiting(WaitKind.ACCOUNT, user=name)
    hours = week_s / 3600
    if limits.device_hours_week is not None and hours >= limits.device_hours_week:
        return Waiting(WaitKind.DEVICE_HOURS, user=name, used=round(hours, 2), limit=limits.device_hours_week)
    if limits.max_running is not None and running >= limits.max_running:
        return Waiting(WaitKind.RUNNING_JOBS, user=name, used=running, limit=limits.max_running)
    return None
