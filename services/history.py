"""A job's attempts, as the remedies know them."""

from collections.abc import Iterable

from services.domain.adjustments import Adjustments
from services.domain.contract import DeviceKind
from services.domain.endings import Diagnosis
from services.domain.remedies import PAUSED, Tried
from services.store.models import Attempt

__all__ = ["device_kind", "tried"]


def tried(attempts: Iterable[Attempt]) -> list[Tried]:
    """One for each attempt, in their order."""
    found: list[Tried] = []
    most_images: dict[str, int] = {}  # in a checkpoint, by model: another one begins again
    for attempt in attempts:
        model, images = attempt.plan["model"], (attempt.saved_step or 0) * attempt.plan["batch_size"]
        found.append(
            Tried(
                Diagnosis(attempt.diagnosis or Diagnosis.INTERRUPTED),
                Adjustments.from_dict(attempt.adjustments),
                is_gpu=device_kind(attempt) is DeviceKind.GPU,
                trained=attempt.step_s is not None,
                saved=images > most_images.get(model, 0),
                seen=attempt.exit_status is not None,
                paused=attempt.followed_by == PAUSED,
            )
        )
        most_images[model] = max(images, most_images.get(model, 0))
    return found


def device_kind(attempt: Attempt) -> DeviceKind:
    return DeviceKind(attempt.device_id.rpartition("/")[2].partition("-")[0])
