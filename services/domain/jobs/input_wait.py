"""How much of a training step waits for images, and what to say about it."""

from services.domain.contract import DeviceKind, HostCores
from services.domain.sizes import counted

__all__ = ["WORTH_SAYING", "recent", "sentence"]

WORTH_SAYING = 0.2  # below, the device is busy enough
_NEWEST = 0.3  # the weight of the newest report: a sentence must not come and go with every checkpoint


def recent(before: float | None, share: float) -> float:
    """The share lately: of the reports so far (`before`; None: there are none) and the newest one."""
    return share if before is None else (1 - _NEWEST) * before + _NEWEST * share


def sentence(share: float | None, kind: DeviceKind, host: HostCores | None) -> str | None:
    """What to tell people, with what helps; None where there is nothing to tell. `host`: None if not known."""
    if share is None or share <= WORTH_SAYING:
        return None
    device = "GPU" if kind is DeviceKind.GPU else "device"
    return f"The {device} waits for images {round(100 * share)} % of the time: {_decoding(kind, host)}."


def _decoding(kind: DeviceKind, host: HostCores | None) -> str:
    helps = "smaller source images"
    if host is None:
        return f"{helps} or more cores help"
    if kind is DeviceKind.CPU:
        return f"decoding and training share {counted(host.cores, 'core')}; {helps} or more cores help"
    if host.devices == 1:
        return f"decoding uses {counted(host.cores, 'core')}; {helps} or more cores help"
    uses = f"decoding uses {host.threads} of {host.cores} cores, which {host.devices} devices share"
    return f"{uses}; {helps}, more cores, or fewer devices in DOWNSHIFT_DEVICES help"
