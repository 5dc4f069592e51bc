"""A job's attempts, as the remedies know them."""

from collections.abc import Iterable, Sequence

from services.domain.contract import DeviceKind, resumed_step
from services.domain.diagnosis.ending import Diagnosis
from services.domain.diagnosis.remedies import PAUSED, Tried
from services.domain.plan.adjustments import Adjustments
from services.store.models import Attempt

__all__ = ["device_kind", "saved_step", "tried"]


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
                paused=(attempt.followed_by or "").startswith(PAUSED),
            )
        )
        most_images[model] = max(images, most_images.get(model, 0))
    return found


def saved_step(attempts: Sequence[Attempt]) -> int:
    """Where an attempt like the last of them goes on, in steps of its batch: at the newest checkpoint of its model,
    or at 0."""
    last = attempts[-1].plan
    for attempt in reversed(attempts):
        if attempt.saved_step and attempt.plan["model"] == last["model"]:
            return resumed_step(attempt.saved_step, attempt.plan["batch_size"], last["batch_size"])
    return 0


def device_kind(attempt: Attempt) -> DeviceKind:
    return DeviceKind(attempt.device_id.rpartition("/")[2].partition("-")[0])
