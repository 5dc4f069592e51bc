"""The remedy after an attempt, from its diagnosis and the attempts before it. Every diagnosis has one.

`max_attempts` bounds the failures that the job itself causes. Failures that others cause (a neighbour, a full disk, a
host that stopped it) do not count against it. They have a bound of their own, `_MOST_WAITS` in a row without a new
checkpoint, most of a working day, so that a job without progress ends with a reason. An unexplained kill counts only
where its exit status is known and the attempt saved nothing new: a job that makes progress is not given up.
"""

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from services.domain.diagnosis.ending import Diagnosis
from services.domain.jobs.states import Stop
from services.domain.plan.adjustments import NONE, Adjustments, bounded, fewer_boxes, smaller_input
from services.domain.plan.changes import Change
from services.domain.plan.input_sizes import InputSizes
from services.domain.sizes import in_mb

__all__ = ["PAUSED", "Next", "Remedy", "Scene", "Tried", "attempts_used", "ran_out", "remedy_for", "waits_s"]

PAUSED = "paused by its owner"
_MOST_IDLE = 5  # interruptions in a row before a first step: the next one would end the same way
_MOST_WAITS = 50
_MOST_KILLS = 2  # of the trainer alone, without a new checkpoint: the job is a likely cause
_MOST_LOST = 5  # together with the supervisor, as when a container ends: says little about the job
_FIRST_WAIT_S = {Diagnosis.NEIGHBOUR: 30.0, Diagnosis.DISK: 60.0}
_LONGEST_WAIT_S = 600.0
_OTHERS = (Diagnosis.INTERRUPTED, Diagnosis.NEIGHBOUR, Diagnosis.DISK, Diagnosis.DEVICE)
_MOST_ON_ONE_DEVICE = 3  # failures of a device that passes its check after each of them

_GIVEN_UP = "Not retried: it would fail again"


class Next(enum.StrEnum):
    SUCCEED = "succeed"
    SMALLER = "smaller"  # ask the planner
    AGAIN = "again"  # the same plan, from the last checkpoint if there is one
    RETRY_LATER = "retry_later"  # the same plan, after a wait
    FAIL = "fail"
    CANCEL = "cancel"
    PAUSE = "pause"


@dataclass(frozen=True)
class Tried:
    """A finished attempt."""

    diagnosis: Diagnosis
    adjustments: Adjustments = NONE
    is_gpu: bool = False
    device: str = ""  # its id
    trained: bool = True  # at least one step
    saved: bool = False  # a newer checkpoint than there was before it
    seen: bool = True  # its exit status is known
    paused: bool = False  # by its owner


@dataclass(frozen=True)
class Scene:
    """The circumstances of the last attempt's end. Texts are clauses for people, "" where nothing is known."""

    message: str = "it ended"
    host: str = "the host"
    neighbours: str = ""  # "python (process 4711) holds 10,240 MB of GPU 0"
    growth: str = ""  # "device memory grew by 3.1 MB a step over 1200 steps"
    input: InputSizes | None = None  # of the run; None: it never had a configuration
    host_peak_bytes: int | None = None
    saved_step: int = 0  # of the newest checkpoint; 0: there is none

    @property
    def again(self) -> str:
        start = f"from its checkpoint at step {self.saved_step}" if self.saved_step else "from the start"
        return f"the same plan again, {start}"


@dataclass(frozen=True)
class Remedy:
    """`said` is stored with the attempt: what followed it. `reason` is stored with the job: why it failed,
    or in `waiting_for` why it waits.
    """

    next: Next
    said: str
    reason: str | None = None
    wait_s: float = 0.0
    adjustments: Adjustments = NONE
    changes: tuple[Change, ...] = ()


def remedy_for(tried: Sequence[Tried], scene: Scene, max_attempts: int, stop: Stop | None = None) -> Remedy:
    """What to do after the last of `tried`. A request to stop counts unless the job has succeeded."""
    last = tried[-1]
    if stop is Stop.CANCEL and last.diagnosis is not Diagnosis.COMPLETED:
        return Remedy(Next.CANCEL, "cancelled by its owner", adjustments=last.adjustments)
    if stop is Stop.PAUSE:
        tried = [*tried[:-1], dataclasses.replace(last, paused=True)]
    found = _REMEDIES[last.diagnosis](tried, scene)
    if stop is Stop.PAUSE and found.next in (Next.AGAIN, Next.RETRY_LATER):
        return dataclasses.replace(found, next=Next.PAUSE, said=PAUSED, reason=None, wait_s=0.0)
    if found.next is Next.AGAIN and _pays(last) and attempts_used(tried) >= max_attempts:
        return _enough(last, scene, f"used all {attempts_used(tried)} attempts that the policy allows")
    return found


def attempts_used(tried: Sequence[Tried]) -> int:
    """The number of attempts that count against the policy."""
    return sum(map(_pays, tried))


def _pays(one: Tried) -> bool:
    if one.diagnosis is Diagnosis.UNKNOWN_KILL:
        return one.seen and not one.saved
    return one.diagnosis not in _OTHERS


def _since_checkpoint(tried: Sequence[Tried]) -> list[Tried]:
    """The attempts since the last one that saved anything new."""
    saved = [number for number, one in enumerate(tried) if one.saved]
    return list(tried[saved[-1] + 1 :] if saved else tried)


def ran_out(tried: Sequence[Tried]) -> list[bool]:
    """For each attempt: did its plan prove too large for its device, at once or after the remedy was used up?"""
    found, spiked = [], False
    for one in tried:
        found.append(
            one.diagnosis is Diagnosis.TOO_LARGE
            or (one.diagnosis is Diagnosis.FRAGMENTATION and not _may_use_async(one))
            or (one.diagnosis is Diagnosis.SPIKE and spiked)
        )
        spiked = spiked or one.diagnosis is Diagnosis.SPIKE
    return found


def waits_s(tried: Sequence[Tried]) -> list[float]:
    """The waits in a row, up to the one after the last of `tried`, for causes outside the job and without progress."""
    count = 0
    for one in reversed(tried):
        if one.diagnosis not in _OTHERS:
            break
        count += one.diagnosis in _FIRST_WAIT_S
        if one.saved:
            break
    first = _FIRST_WAIT_S[tried[-1].diagnosis]
    return [min(_LONGEST_WAIT_S, first * 2**number) for number in range(count)]


def _succeed(tried: Sequence[Tried], scene: Scene) -> Remedy:
    return Remedy(Next.SUCCEED, "finished", adjustments=tried[-1].adjustments)


def _interrupted(tried: Sequence[Tried], scene: Scene) -> Remedy:
    idle = 0
    for one in reversed(tried):
        if one.diagnosis is not Diagnosis.INTERRUPTED or one.trained:
            break
        idle += not one.paused
    if idle >= _MOST_IDLE:
        return _enough(tried[-1], scene, f"stopped {idle} times in a row before the first step")
    since = _since_checkpoint(tried)
    fruitless = sum(one.diagnosis is Diagnosis.INTERRUPTED and not one.paused for one in since)
    if fruitless >= _MOST_WAITS:
        return _enough(tried[-1], scene, f"stopped {fruitless} times without a new checkpoint")
    return Remedy(Next.AGAIN, scene.again, adjustments=tried[-1].adjustments)


def _too_large(tried: Sequence[Tried], scene: Scene) -> Remedy:
    return Remedy(Next.SMALLER, "a smaller plan", adjustments=tried[-1].adjustments)


def _neighbour(tried: Sequence[Tried], scene: Scene) -> Remedy:
    holder = scene.neighbours or "no process holds it any more"
    said = f"waits for memory that other processes hold ({holder})"
    return _retry_later(tried, scene, f"{scene.message}: {holder}", said)


def _disk(tried: Sequence[Tried], scene: Scene) -> Remedy:
    what = f"free disk space on {scene.host}, for example remove old jobs or datasets"
    said = f"waits for disk space on {scene.host}"
    return _retry_later(tried, scene, f"{scene.message}: {what}; the job then continues by itself", said)


def _device(tried: Sequence[Tried], scene: Scene) -> Remedy:
    """The device gets no job until it has passed a check. Where several devices fail alike, the job is the cause."""
    failed = [one.device for one in _since_checkpoint(tried) if one.diagnosis is Diagnosis.DEVICE]
    if len(set(failed)) > 1:
        return _enough(tried[-1], scene, f"{len(set(failed))} devices failed like this with this job")
    if len(failed) >= _MOST_ON_ONE_DEVICE:
        return _enough(tried[-1], scene, f"the device failed like this {len(failed)} times with this job")
    said = f"{scene.again}, on another device, or on this one once it has passed a check"
    return Remedy(Next.AGAIN, said, adjustments=tried[-1].adjustments)


def _retry_later(tried: Sequence[Tried], scene: Scene, reason: str, said: str) -> Remedy:
    waits = waits_s(tried)
    if len(waits) >= _MOST_WAITS:
        return _enough(tried[-1], scene, f"waited {len(waits)} times in a row without progress")
    return Remedy(
        Next.RETRY_LATER,
        f"{said}; {scene.again} after {waits[-1]:.0f} s",
        f"{reason}; retried after {waits[-1]:.0f} s",
        waits[-1],
        tried[-1].adjustments,
    )


def _fragmentation(tried: Sequence[Tried], scene: Scene) -> Remedy:
    last = tried[-1]
    if not _may_use_async(last):
        return _too_large(tried, scene)
    why = "the memory was free, but in pieces too small for the request: cuda_malloc_async joins them"
    change = Change(None, "async_allocator", "BFC", "cuda_malloc_async", why)
    adjusted = dataclasses.replace(last.adjustments, async_allocator=True)
    return Remedy(Next.AGAIN, f"{scene.again}, with cuda_malloc_async: {why}", adjustments=adjusted, changes=(change,))


def _may_use_async(one: Tried) -> bool:
    return one.is_gpu and not one.adjustments.async_allocator


def _leak(tried: Sequence[Tried], scene: Scene) -> Remedy:
    growth = f": {scene.growth}" if scene.growth else ""
    if _came_before(tried):
        said = f"Not retried: memory grew again{growth}"
        return Remedy(
            Next.FAIL, said, f"{scene.message} (for the second time){growth}", adjustments=tried[-1].adjustments
        )
    return Remedy(Next.AGAIN, f"{scene.again}, once{growth}", adjustments=tried[-1].adjustments)


def _spike(tried: Sequence[Tried], scene: Scene) -> Remedy:
    """The plan bounds the image size already, so what differs between batches is the number of boxes."""
    last = tried[-1]
    if _came_before(tried):
        return _too_large(tried, scene)
    adjusted = fewer_boxes(scene.input, last.adjustments) if scene.input else None
    if adjusted is None or scene.input is None:
        return Remedy(Next.AGAIN, f"{scene.again}, once", adjustments=last.adjustments)
    why = (
        f"one batch needed more memory than the others: at most {adjusted.max_number_of_boxes} boxes an image are used"
    )
    return Remedy(
        Next.AGAIN,
        f"{scene.again}: {why}",
        adjustments=adjusted,
        changes=_input_changes(scene.input, adjusted, why),
    )


def _host(tried: Sequence[Tried], scene: Scene) -> Remedy:
    last = tried[-1]
    if scene.input is None:
        return _once_more(tried, scene)
    adjusted = smaller_input(scene.input, last.adjustments)
    if adjusted is None:
        held = f" (the trainer used {in_mb(scene.host_peak_bytes)})" if scene.host_peak_bytes else ""
        smallest = f"the input pipeline is already at its smallest ({_input_words(scene.input)})"
        reason = (
            f"{scene.message}: {scene.host} has too little memory{held}, and {smallest}; use a host with more memory"
        )
        return Remedy(Next.FAIL, f"Not retried: {smallest}", reason, adjustments=last.adjustments)
    why = f"{scene.host} ran out of memory: the input pipeline is made smaller, the model is not changed"
    words = _input_words(bounded(scene.input, adjusted))
    return Remedy(
        Next.AGAIN,
        f"{scene.again}, with a smaller input pipeline ({words})",
        adjustments=adjusted,
        changes=_input_changes(scene.input, adjusted, why),
    )


def _bug(tried: Sequence[Tried], scene: Scene) -> Remedy:
    again = " (for the second time)" if _came_before(tried) else ""
    return Remedy(Next.FAIL, _GIVEN_UP, f"{scene.message}{again}", adjustments=tried[-1].adjustments)


def _unknown_kill(tried: Sequence[Tried], scene: Scene) -> Remedy:
    last = tried[-1]
    kills = [one for one in _since_checkpoint(tried) if one.diagnosis is Diagnosis.UNKNOWN_KILL]
    if sum(one.seen for one in kills) >= _MOST_KILLS:
        return _enough(last, scene, "killed for the second time without a new checkpoint in between")
    if len(kills) >= _MOST_LOST:
        return _enough(last, scene, f"killed {len(kills)} times without a new checkpoint")
    return Remedy(Next.AGAIN, scene.again, adjustments=last.adjustments)


def _once_more(tried: Sequence[Tried], scene: Scene) -> Remedy:
    if _came_before(tried):
        return _bug(tried, scene)
    return Remedy(Next.AGAIN, scene.again, adjustments=tried[-1].adjustments)


def _enough(last: Tried, scene: Scene, why: str) -> Remedy:
    return Remedy(Next.FAIL, f"Not retried: {why}", f"{scene.message} ({why})", adjustments=last.adjustments)


def _came_before(tried: Sequence[Tried]) -> bool:
    return any(one.diagnosis is tried[-1].diagnosis for one in tried[:-1])


def _input_words(sizes: InputSizes) -> str:
    batches = max(sizes.num_parallel_batches, sizes.num_prefetch_batches)
    calls = sizes.num_parallel_map_calls
    at_once = "" if calls is None else f", images decoded at once {calls}"
    return f"shuffle buffer {sizes.shuffle_buffer_size}, readers {sizes.num_readers}, batches ahead {batches}{at_once}"


def _input_changes(sizes: InputSizes, adjusted: Adjustments, why: str) -> tuple[Change, ...]:
    """Changes named by their fields in the configuration."""
    after = bounded(sizes, adjusted)
    names = [
        field.name for field in dataclasses.fields(sizes) if getattr(sizes, field.name) != getattr(after, field.name)
    ]
    return tuple(
        Change(None, f"train_input_reader.{name}", str(getattr(sizes, name)), str(getattr(after, name)), why)
        for name in names
    )


_REMEDIES: Mapping[Diagnosis, Callable[[Sequence[Tried], Scene], Remedy]] = {
    Diagnosis.COMPLETED: _succeed,
    Diagnosis.INTERRUPTED: _interrupted,
    Diagnosis.TOO_LARGE: _too_large,
    Diagnosis.NEIGHBOUR: _neighbour,
    Diagnosis.FRAGMENTATION: _fragmentation,
    Diagnosis.LEAK: _leak,
    Diagnosis.SPIKE: _spike,
    Diagnosis.HOST: _host,
    Diagnosis.DISK: _disk,
    Diagnosis.DEVICE: _device,
    Diagnosis.BUG: _bug,
    Diagnosis.UNKNOWN_KILL: _unknown_kill,
}
