"""What was measured of an attempt, for its diagnosis: by its host while it ran, by its trainer, and when it began."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services.domain.contract import DeviceKind, Phase
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.growth import Sample
from services.planning import past_attempts
from services.store import attempts, devices, training_series
from services.store.engine import Store
from services.store.models import Attempt

__all__ = ["Facts", "known"]

_SAMPLES = 200


@dataclass(frozen=True)
class Facts:
    """What only the host could see. None, and nobody, where it did not look or does not know."""

    held_by_others: int | None = None  # bytes of the device, at most, in the last minute
    others: tuple[Mapping[str, Any], ...] = ()  # who they were then: {"pid", "name", "used_bytes"}
    oom_kills: int | None = None  # in the trainer's control group while it ran


def known(store: Store, job_id: int, number: int, facts: Facts) -> Case:
    """All that is known of the end of an attempt but its log, its outcome and its exit status. Its events must have
    been taken in."""
    with store.reading() as session:
        attempt = attempts.get(session, job_id, number)
        if attempt is None:
            return Case()
        kind = past_attempts.device_kind(attempt)
        device = devices.get(session, attempt.device_id)
        is_gpu = kind is DeviceKind.GPU
        return Case(
            samples=_samples(session, attempt),
            device_kind=kind,
            limit=(device.total_bytes if device else None) if is_gpu else attempt.limit_bytes,
            free_at_claim=attempt.limit_bytes if is_gpu else None,
            held_by_others=facts.held_by_others,
            cgroup_oom_kills=facts.oom_kills,
        )


def _samples(session: Session, attempt: Attempt) -> list[Sample]:
    """Of the device's memory from step to step; none where it was no step that ran out."""
    if attempt.phase != Phase.TRAINING:
        return []
    held = training_series.series_of_attempt(session, attempt.job_id, attempt.number, "device_memory", _SAMPLES)
    return [Sample(bucket.step, round(bucket.mean)) for bucket in held]
