"""Memory that attempts really needed: SQL."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Subquery, func, select, union_all
from sqlalchemy.orm import Session, aliased

from services.store.models import Measurement

__all__ = ["add", "host_peak", "of_models"]

# Per call: the law needs tens, and all that repeat one plan tell it no more than a few of them.
_LATEST, _OF_ONE_PLAN, _OF_ONE_MODEL = 500, 8, 1000


def add(session: Session, measurement: Measurement) -> None:
    session.add(measurement)
    session.flush()


def of_models(session: Session, models: Iterable[str], device_kind: str | None = None) -> Sequence[Measurement]:
    """The newest ones of these models, few of each plan: however often one is repeated, the others are not lost."""
    each = [_newest(model, device_kind) for model in models]
    if not each:
        return []
    lately = aliased(Measurement, union_all(*(select(one) for one in each)).subquery())
    plan = (lately.model, lately.precision, lately.micro_batch, lately.accumulation, lately.height, lately.width)
    rest = (lately.proposals, lately.second_stage_batch, lately.software, lately.complete)
    age = func.row_number().over(partition_by=(*plan, *rest), order_by=lately.id.desc())
    ranked = select(lately.id, age.label("age")).subquery()
    newest = select(ranked.c.id).where(ranked.c.age <= _OF_ONE_PLAN)
    return session.scalars(
        select(Measurement).where(Measurement.id.in_(newest)).order_by(Measurement.id.desc()).limit(_LATEST)
    ).all()


def _newest(model: str, device_kind: str | None) -> Subquery:
    found = select(Measurement).where(Measurement.model == model)
    if device_kind is not None:
        found = found.where(Measurement.device_kind == device_kind)
    return found.order_by(Measurement.id.desc()).limit(_OF_ONE_MODEL).subquery()


def host_peak(session: Session, model: str) -> int | None:
    """The most that an attempt of this model took of its host's memory; None where nobody knows."""
    return session.scalar(select(func.max(Measurement.host_peak_bytes)).where(Measurement.model == model))
