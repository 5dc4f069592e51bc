"""Collect the measurements of an attempt that its diagnosis needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from services.domain.contract import DeviceKind, Phase
from services.domain.diagnosis.case import Case
from services.domain.diagnosis.growth import Sample
from services.domain.memory.gpu_limit import parse_capability
from services.planning import past_attempts
from services.store import attempts, training_series
from services.store.devices import devices
from services.store.engine import Store
from services.store.models import Attempt

__all__ = ["HostEvidence", "known_case"]

_SAMPLES = 200


@dataclass(frozen=True)
class HostEvidence:
    """What only the host can observe. None or empty where it is unknown."""

    held_by_others: int | None = None  # the most device bytes of other processes in the last minute
    others: tuple[Mapping[str, Any], ...] = ()  # these processes: {"pid", "name", "used_bytes"}
    oom_kills: int | None = None  # in the trainer's control group while it ran


def known_case(store: Store, job_id: int, number: int, host: HostEvidence) -> Case:
    """The case of an ended attempt, without its log, outcome and exit status. Its events must have been ingested."""
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
            limit=attempt.limit_bytes,
            total=device.total_bytes if device and is_gpu else None,
            free_at_claim=attempt.free_bytes if is_gpu else None,
            capability=parse_capability((attempt.versions or {}).get("capability")),
            held_by_others=host.held_by_others,
            cgroup_oom_kills=host.oom_kills,
        )


def _samples(session: Session, attempt: Attempt) -> list[Sample]:
    """Device memory over the steps; empty unless the attempt ended while training."""
    if attempt.phase != Phase.TRAINING:
        return []
    buckets = training_series.series_of_attempt(session, attempt.job_id, attempt.number, "device_memory", _SAMPLES)
    return [Sample(bucket.step, round(bucket.mean)) for bucket in buckets]
