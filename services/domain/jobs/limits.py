"""The limits of one user."""

from dataclasses import dataclass

__all__ = ["Limits", "hold"]


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


def hold(name: str, limits: Limits, running: int, week_s: float, *, is_disabled: bool = False) -> str | None:
    """Why none of this user's jobs may start now; None where one may."""
    if is_disabled:
        return f"The account of {name} is disabled"
    hours = week_s / 3600
    if limits.device_hours_week is not None and hours >= limits.device_hours_week:
        return f"{name} has used {hours:.1f} of {limits.device_hours_week:g} device hours in the last seven days"
    if limits.max_running is not None and running >= limits.max_running:
        return f"{name} already runs {running} of {limits.max_running} allowed jobs"
    return None
