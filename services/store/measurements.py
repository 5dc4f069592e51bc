"""Memory that attempts really needed: SQL."""

from collections.abc import Iterable, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from services.store.models import Measurement

__all__ = ["add", "host_peak", "of_models"]

_LATEST = 500  # per call: the law needs tens


def add(session: Session, measurement: Measurement) -> None:
    session.add(measurement)
    session.flush()


def of_models(session: Session, models: Iterable[str], device_kind: str | None = None) -> Sequence[Measurement]:
    """The newest ones of these models."""
    query = select(Measurement).where(Measurement.model.in_(list(models)))
    if device_kind is not None:
        query = query.where(Measurement.device_kind == device_kind)
    return session.scalars(query.order_by(Measurement.id.desc()).limit(_LATEST)).all()


def host_peak(session: Session, model: str) -> int | None:
    """The most that an attempt of this model took of its host's memory; None where nobody knows."""
    return session.scalar(select(func.max(Measurement.host_peak_bytes)).where(Measurement.model == model))
