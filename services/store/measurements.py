"""SQL for measurements of the memory that attempts needed."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Subquery, func, select, union_all, update
from sqlalchemy.orm import Session

from services.store.models import Measurement

__all__ = ["add", "host_peak", "of_models"]

_LATEST = 500  # of each model, and in all; the law needs tens
_OF_ONE_PLAN = 8  # stay in use; more repetitions of one plan add no information
_PLAN = (
    Measurement.model,
    Measurement.precision,
    Measurement.micro_batch,
    Measurement.accumulation,
    Measurement.height,
    Measurement.width,
    Measurement.proposals,
    Measurement.second_stage_batch,
    Measurement.device_kind,
    Measurement.software,
    Measurement.hardware,
    Measurement.complete,
    Measurement.brief,
)
_IN_USE = Measurement.superseded_at.is_(None)


def add(session: Session, measurement: Measurement) -> None:
    session.add(measurement)
    session.flush()
    same = [column == getattr(measurement, column.key) for column in _PLAN]  # None becomes IS NULL
    in_use = select(Measurement.id).where(*same, _IN_USE)
    older = session.scalars(in_use.order_by(Measurement.id.desc()).offset(_OF_ONE_PLAN)).all()
    if older:
        superseded = update(Measurement).where(Measurement.id.in_(older))
        session.execute(superseded.values(superseded_at=measurement.created_at))


def of_models(session: Session, models: Iterable[str], device_kind: str | None = None) -> Sequence[Measurement]:
    """The newest measurements of these models, at most 8 of each plan, so that one plan cannot displace the others."""
    each = [_newest(model, device_kind) for model in models]
    if not each:
        return []
    found = union_all(*(select(one.c.id) for one in each)).subquery()
    newest = select(Measurement).where(Measurement.id.in_(select(found.c.id)))
    return session.scalars(newest.order_by(Measurement.id.desc()).limit(_LATEST)).all()


def _newest(model: str, device_kind: str | None) -> Subquery:
    """One subquery for each model, because the index has its rows in this order."""
    found = select(Measurement.id).where(Measurement.model == model, _IN_USE)
    if device_kind is not None:
        found = found.where(Measurement.device_kind == device_kind)
    return found.order_by(Measurement.id.desc()).limit(_LATEST).subquery()


def host_peak(session: Session, model: str) -> int | None:
    """The highest peak of host memory of this model's attempts; None if it was never measured."""
    return session.scalar(select(func.max(Measurement.host_peak_bytes)).where(Measurement.model == model))
