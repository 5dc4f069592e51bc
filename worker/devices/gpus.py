"""The GPUs of this host under stable names.

NVML numbers the cards that it lists at the moment. When a card falls off the bus, later ones may move up. A name made
of NVML's number would then mean another card, on which another job may be training. So a card, identified by its uuid,
keeps its first number while this process lives. A card that is gone stays in the list, with a problem.
"""

from dataclasses import replace

from services.domain.contract import DeviceKind
from worker.devices.cuda_visible import visible
from worker.devices.nvml import Gpu, Nvml, NvmlUnavailable
from worker.devices.processes import name_of
from worker.devices.readings import DeviceReading, MemoryHolder

__all__ = ["Gpus"]

_BFLOAT16_SINCE = (8, 0)  # Ampere


class Gpus:
    def __init__(self, cuda_visible: str | None, nvml: Nvml) -> None:
        self._cuda_visible = cuda_visible
        self._nvml = nvml
        self._cards: dict[int, DeviceReading] = {}  # every card ever seen, as it was seen last
        self.problem: str | None = None  # why the last read failed as a whole

    def read(self) -> dict[int, DeviceReading]:
        """The cards that CUDA_VISIBLE_DEVICES allows, by number, including cards that are gone."""
        try:
            self._update(*self._nvml.read())
            self.problem = None
        except NvmlUnavailable as error:
            self.problem = str(error)
            self._cards = {number: _failed(card, self.problem) for number, card in self._cards.items()}
        shown = visible(self._cuda_visible, {number: card.uuid for number, card in self._cards.items()})
        return {number: self._cards[number] for number in sorted(shown)}

    def why_missing(self, number: int) -> str:
        """Why the last `read` did not return this card."""
        if number in self._cards:
            return f"the worker's CUDA_VISIBLE_DEVICES={self._cuda_visible} hides it"
        if self.problem:
            return self.problem
        listed = ", ".join(card.key for card in self._cards.values()) or "no GPU"
        return f"there is no such GPU: NVML lists {listed}"

    def _update(self, driver: str | None, seen: list[Gpu]) -> None:
        fresh: dict[int, DeviceReading] = {}
        for gpu in sorted(seen, key=lambda gpu: gpu.uuid is None):  # first those that report a uuid
            number = self._number(gpu, fresh)
            fresh[number] = _reading(gpu, number, driver, self._cards.get(number))
        for number in self._cards.keys() - fresh.keys():
            self._cards[number] = _failed(self._cards[number], "NVML no longer lists it")
        self._cards.update(fresh)

    def _number(self, gpu: Gpu, fresh: dict[int, DeviceReading]) -> int:
        unseen = {number: card for number, card in self._cards.items() if number not in fresh}
        same = [number for number, card in unseen.items() if gpu.uuid and gpu.uuid == card.uuid]
        # Without a uuid, now or in the last read, a card is taken for the one with the same NVML number.
        same += [number for number, card in unseen.items() if gpu.index == card.index and not (gpu.uuid and card.uuid)]
        taken = self._cards.keys() | fresh.keys()
        return same[0] if same else gpu.index if gpu.index not in taken else max(taken) + 1


def _reading(gpu: Gpu, number: int, driver: str | None, before: DeviceReading | None) -> DeviceReading:
    now = DeviceReading(
        key=f"gpu-{number}",
        kind=DeviceKind.GPU,
        index=gpu.index,
        name=gpu.name or (before.name if before else f"GPU {number}"),
        total_bytes=gpu.total_bytes or (before.total_bytes if before else 0),
        free_bytes=gpu.free_bytes,
        utilisation=gpu.utilisation,
        temperature=gpu.temperature,
        processes=tuple(MemoryHolder(pid, used, name_of(pid)) for pid, used in gpu.processes),
        bfloat16=gpu.capability >= _BFLOAT16_SINCE if gpu.capability else bool(before and before.bfloat16),
        uuid=gpu.uuid or (before.uuid if before else None),
        driver=driver,
    )
    return now if gpu.problem is None else _failed(now, gpu.problem)


def _failed(card: DeviceReading, problem: str) -> DeviceReading:
    return replace(card, free_bytes=0, utilisation=None, temperature=None, processes=(), problem=problem)
