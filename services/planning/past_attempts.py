"""A job's earlier attempts: their results, as the choice of a remedy needs them, and their newest checkpoint."""

from collections.abc import Iterable, Sequence

from services.domain.contract import DeviceKind, resumed_step
from services.domain.diagnosis.ending import Diagnosis
from services.domain.diagnosis.remedies import PAUSED, Tried
from services.domain.memory.gpu_limit import hardware_name
from services.domain.plan.adjustments import Adjustments
from services.store.listing import Running
from services.store.models import Attempt

__all__ = ["device_kind", "hardware", "saved_step", "tried"]


def tried(attempts: Iterable[Attempt]) -> list[Tried]:
    """One entry for each attempt, in the same order."""
    found: list[Tried] = []
    most_images: dict[str, int] = {}  # seen until the newest checkpoint, by model: another model starts from 0
    for attempt in attempts:
        model, images = attempt.plan["model"], (attempt.saved_step or 0) * attempt.plan["batch_size"]
        found.append(
            Tried(
                Diagnosis(attempt.diagnosis or Diagnosis.INTERRUPTED),
                Adjustments.from_dict(attempt.adjustments),
                is_gpu=device_kind(attempt) is DeviceKind.GPU,
                device=attempt.device_id,
                trained=attempt.step_s is not None,
                saved=images > most_images.get(model, 0),
                seen=attempt.exit_status is not None,
                paused=(attempt.followed_by or "").startswith(PAUSED),
            )
        )
        most_images[model] = max(images, most_images.get(model, 0))
    return found


def saved_step(attempts: Sequence[Attempt]) -> int:
    """The step at which an attempt with the last one's plan resumes: that of its model's newest checkpoint, or 0.

    Counted in steps of the last attempt's batch size.
    """
    last = attempts[-1].plan
    for attempt in reversed(attempts):
        if attempt.saved_step and attempt.plan["model"] == last["model"]:
            return resumed_step(attempt.saved_step, attempt.plan["batch_size"], last["batch_size"])
    return 0


def hardware(attempt: Attempt) -> str | None:
    """The kind of GPU that it ran on, with its libraries; None where that is unknown, and on a slot."""
    versions = attempt.versions or {}
    return hardware_name(versions.get("capability"), versions.get("cudnn"))


def device_kind(attempt: Attempt | Running) -> DeviceKind:
    return DeviceKind(attempt.device_id.rpartition("/")[2].partition("-")[0])
