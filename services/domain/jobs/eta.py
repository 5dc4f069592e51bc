"""Estimated time until a running job ends."""

__all__ = ["eta_s"]


def eta_s(step: int, steps: int, step_s: float | None) -> float | None:
    """Seconds for the remaining steps; None where no step was measured yet."""
    return None if step_s is None else round(max(0, steps - step) * step_s, 1)
