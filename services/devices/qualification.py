"""Qualification of GPUs: which one is to be checked, what a check found, and a person's request for another one."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from services import idempotency
from services.clock import utc_now
from services.domain.contract import DeviceKind
from services.domain.gpus import qualification
from services.domain.gpus.qualification import CheckEnd
from services.errors import Conflict, NotFound
from services.idempotency import RequestKey, Result
from services.store.devices import devices, leases
from services.store.engine import Store
from services.store.models import Device
from services.store.users import audit
from services.users.principal import Principal, Scope

__all__ = ["DueCheck", "ask", "ask_again_for_failed", "next_due", "problem_of", "record"]


@dataclass(frozen=True)
class DueCheck:
    device_id: str
    key: str
    fingerprint: str


def problem_of(device: Device, fingerprint: str | None) -> str | None:
    """Why no job may start on the device; None if it is qualified, or needs no qualification."""
    if fingerprint is None:
        return None
    return qualification.problem_of(device.qualification, fingerprint, device.qualify_since)


def next_due(store: Store, host: str, fingerprints: Mapping[str, str]) -> DueCheck | None:
    """The device of `host` to check now: the one checked longest ago. None: none is due, or jobs have those that are.

    `fingerprints`: by key, of the GPUs that can be checked.
    """
    now = utc_now()
    with store.reading() as session:
        leased = {lease.device_id for lease in leases.of_host(session, host)}
        due = [
            device
            for device in devices.of_host(session, host)
            if device.key in fingerprints
            and device.id not in leased
            and qualification.is_due(device.qualification, fingerprints[device.key], device.qualify_since, now)
        ]
    due.sort(key=lambda device: ((device.qualification or {}).get("at") or "", device.index))
    return DueCheck(due[0].id, due[0].key, fingerprints[due[0].key]) if due else None


def record(store: Store, due: DueCheck, end: CheckEnd, started_at: datetime.datetime) -> bool | None:
    """Keep what a check found; returns whether the device is qualified, None if it is gone.

    A request that came while the check ran stays.
    """
    now = utc_now()
    with store.transaction() as session:
        device = devices.get(session, due.device_id)
        if device is None:
            return None
        device.qualification = qualification.result_of(end, device.qualification, due.fingerprint, device.driver, now)
        if device.qualify_since is not None and device.qualify_since <= started_at:
            device.qualify_since = None
        return bool(device.qualification["ok"])


def ask_again_for_failed(store: Store, host: str) -> None:
    """Check again what failed before. Call it when a worker starts: what was wrong may have been repaired."""
    now = utc_now()
    with store.transaction() as session:
        for device in devices.of_host(session, host):
            if device.qualification is not None and not device.qualification.get("ok"):
                device.qualify_since = now


def ask(store: Store, principal: Principal, device_id: str, idempotency_key: str | None = None) -> Result:
    """Have a GPU checked again. It starts no job until the check has passed. Raises Forbidden, NotFound, Conflict."""
    principal.require(Scope.ADMIN)

    def work(session: Session) -> Result:
        device = devices.get(session, device_id)
        if device is None:
            raise NotFound(f"there is no device {device_id}")
        if device.kind != DeviceKind.GPU:
            raise Conflict("wrong_state", f"{device_id} is a CPU slot: only GPUs are checked")
        now = utc_now()
        device.qualify_since = now
        audit.add(session, principal.user_id, "device.qualify", f"device {device_id}", now)
        return Result({}, "/v1/devices")

    key = RequestKey.of(principal.user_id, idempotency_key, "device.qualify", {"device": device_id})
    return idempotency.do_once(store, key, work)
