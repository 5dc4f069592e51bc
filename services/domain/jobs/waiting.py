"""What a queued job waits for: as data, and as a sentence made from it."""

import dataclasses
import datetime
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from services.domain.holders import held_by
from services.domain.sizes import in_mb

__all__ = ["Holder", "WaitKind", "WaitedDevice", "Waiting"]


class WaitKind(enum.StrEnum):
    FREE_DEVICE = "free_device"  # any device
    BUSY_DEVICE = "busy_device"  # `device`, which runs another job
    FREE_MEMORY = "free_memory"  # memory of `device` that other processes hold
    DEVICE_SIZE = "device_size"  # a device with at least `min_bytes`
    LARGER_DEVICE = "larger_device"  # a larger device than there is
    HOST = "host"  # the host of `device`, which has not reported lately
    REPAIR = "repair"  # `device`, which has a problem
    DISK_SPACE = "disk_space"  # disk space on the host of the last attempt
    ACCOUNT = "account"  # the owner's account is disabled
    DEVICE_HOURS = "device_hours"  # the owner has used the week's device hours
    RUNNING_JOBS = "running_jobs"  # the owner runs as many jobs as allowed


@dataclass(frozen=True)
class WaitedDevice:
    id: str
    name: str
    total_bytes: int

    def __str__(self) -> str:
        size = f", {in_mb(self.total_bytes)}" if self.total_bytes else ""
        return f"{self.name} ({self.id}{size})"


@dataclass(frozen=True)
class Holder:
    """Who has the device. `job`: its number; None: the job of another user, or `processes` that are not ours."""

    job: int | None = None
    processes: tuple[Mapping[str, Any], ...] = ()

    def __str__(self) -> str:
        return "another user's job" if self.job is None else f"job {self.job}"


@dataclass(frozen=True)
class Waiting:
    """Only the fields that the kind needs are set. `detail`: the words of the planner or of a diagnosis, for people."""

    kind: WaitKind
    device: WaitedDevice | None = None
    holder: Holder | None = None
    others: int = 0  # other devices that would do as well
    min_bytes: int | None = None
    free_bytes: int | None = None
    user: str | None = None
    used: float | None = None
    limit: float | None = None
    detail: str | None = None
    until: datetime.datetime | None = None  # when the job is tried again
    since: datetime.datetime | None = None

    @classmethod
    def for_size(cls, min_bytes: int) -> Self:
        """For a device of the size that the job asks for; 0: any."""
        return cls(WaitKind.DEVICE_SIZE, min_bytes=min_bytes) if min_bytes else cls(WaitKind.FREE_DEVICE)

    @property
    def sentence(self) -> str:
        return self._sentence(str(self.device))

    @property
    def short(self) -> str:
        """A shorter sentence, for lists: without the id and size of the device."""
        return self._sentence(self.device.name if self.device else "")

    def is_same(self, other: Self | None) -> bool:
        """Do both wait for the same? Figures that change all the time, such as free memory, do not count."""
        return other is not None and self._essence == other._essence

    @property
    def _essence(self) -> tuple[object, ...]:
        device, job = self.device and self.device.id, self.holder and self.holder.job
        pids = {process.get("pid") for process in self.holder.processes} if self.holder else set()
        detail = _AMOUNT.sub("", self.detail or "")
        return self.kind, device, job, pids, self.min_bytes, self.limit, detail, self.until

    def _sentence(self, device: str) -> str:
        match self.kind:
            case WaitKind.BUSY_DEVICE:
                more = f", or for one of {self.others} others" if self.others else ""
                return f"Waits for {device}, busy with {self.holder}{more}"
            case WaitKind.FREE_MEMORY if self.detail is None:
                name = self.device.name if self.device else "the device"
                holder = held_by(self.holder.processes, name) if self.holder else ""
                free = f"{name} has {in_mb(self.free_bytes or 0)} free"
                return f"Waits for a device with enough free memory: {free}{', ' if holder else ''}{holder}"
            case WaitKind.DEVICE_SIZE:
                return f"Waits for a device with at least {in_mb(self.min_bytes or 0)} of memory"
            case WaitKind.LARGER_DEVICE:
                return f"Waits for a larger device. {self.detail}"
            case WaitKind.HOST:
                return f"Waits for {self.device.id if self.device else device}: its host has not reported lately"
            case WaitKind.REPAIR:
                return f"Waits for {device}: {self.detail}"
            case WaitKind.ACCOUNT:
                return f"The account of {self.user} is disabled"
            case WaitKind.DEVICE_HOURS:
                hours = f"{self.used:.1f} of {self.limit:g} device hours"
                return f"{self.user} has used {hours} in the last seven days"
            case WaitKind.RUNNING_JOBS:
                return f"{self.user} already runs {self.used:g} of {self.limit:g} allowed jobs"
            case _:
                return self.detail or "Waits for a free device"

    def to_dict(self) -> dict[str, Any]:
        """All fields but those that are not set, times as text: for JSON."""
        found = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        for name in ("until", "since"):
            if name in found:
                found[name] = found[name].isoformat()
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What this version does not know is left out: another version may have written it."""
        try:
            return cls._from_dict(values)
        except (AttributeError, KeyError, TypeError, ValueError):
            detail = values.get("detail")
            return cls(WaitKind.FREE_DEVICE, detail=detail if isinstance(detail, str) else None)

    @classmethod
    def _from_dict(cls, values: Mapping[str, Any]) -> Self:
        found = _known(cls, values)
        found["kind"] = WaitKind(found["kind"])
        if found.get("device"):
            found["device"] = WaitedDevice(**_known(WaitedDevice, found["device"]))
        if found.get("holder"):
            found["holder"] = Holder(found["holder"].get("job"), tuple(found["holder"].get("processes") or ()))
        for name in ("until", "since"):
            if found.get(name):
                found[name] = datetime.datetime.fromisoformat(found[name])
        return cls(**found)


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in values.items() if name in names}


_AMOUNT = re.compile(r"[\d.,]+ [KMG]B")  # changes all the time
