"""A job's attempts, as the remedies know them."""

from collections.abc import Iterable

from services.domain.adjustments import Adjustments
from services.domain.contract import DeviceKind
from services.domain.endings import Diagnosis
from services.domain.remedies import Tried
from services.store.models import Attempt

__all__ = ["device_kind", "tried"]


def tried(attempts: Iterable[Attempt]) -> list[Tried]:
    """One for each attempt, in their order."""
    found, saved_before = [], 0
    for attempt in attempts:
        saved = attempt.saved_step or 0
        found.append(
            Tried(
                Diagnosis(attempt.diagnosis or Diagnosis.INTERRUPTED),
                Adjustments.from_dict(attempt.adjustments),
                is_gpu=device_kind(attempt) is DeviceKind.GPU,
                trained=attempt.step_s is not None,
                saved=saved > saved_before,
            )
        )
        saved_before = saved
    return found


def device_kind(attempt: Attempt) -> DeviceKind:
    return DeviceKind(attempt.device_id.rpartition("/")[2].partition("-")[0])
