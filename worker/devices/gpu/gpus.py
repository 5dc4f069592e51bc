"""The GPUs of this host under stable names.

NVML numbers the cards that it lists at the moment. When a card falls off the bus, later ones may move up. A name made
of NVML's number would then mean another card, on which another job may be training. So a card, identified by its uuid,
keeps its first number while this process lives. A card that is gone stays in the list, with a problem.

The MIG instances of a card are devices in its place. They are numbered within the card in the same way, but one that
is gone while its card answers was deleted, and goes.
"""

from dataclasses import replace

from services.domain.contract import DeviceKind
from services.domain.gpus import health
from services.domain.precision import Precision, half_precision
from worker.devices.gpu.cuda_visible import Place, visible
from worker.devices.gpu.nvml import Gpu, GpuReader, NvmlSilent, NvmlUnavailable
from worker.devices.processes import name_of
from worker.devices.readings import DeviceReading, MemoryHolder

__all__ = ["Gpus"]


class Gpus:
    def __init__(self, cuda_visible: str | None, nvml: GpuReader) -> None:
        self._cuda_visible = cuda_visible
        self._nvml = nvml
        self._cards: dict[int, DeviceReading] = {}  # every card ever seen, as it was seen last
        self._instances: dict[int, dict[int, DeviceReading]] = {}  # MIG instances, by their card's number
        self.problem: str | None = None  # why the last read failed as a whole
        self.is_silent = False  # there is a driver, but it did not answer the last read

    def read(self) -> dict[Place, DeviceReading]:
        """The GPUs and MIG instances that CUDA_VISIBLE_DEVICES allows, including cards that are gone."""
        try:
            self._update(*self._nvml.read())
            self.problem, self.is_silent = None, False
        except NvmlUnavailable as error:
            self.problem, self.is_silent = str(error), isinstance(error, NvmlSilent)
            for number in self._cards:
                self._fail(number, self.problem)
        found = self._devices()
        cards = {number: card.uuid for number, card in self._cards.items()}
        shown = visible(self._cuda_visible, cards, {place: device.uuid for place, device in found.items()})
        return {place: device for place, device in found.items() if place in shown}

    def why_missing(self, number: int, instance: int | None = None) -> str:
        """Why the last `read` did not return this device."""
        found = self._devices()
        if any(place[0] == number and instance in (None, place[1]) for place in found):
            return f"the worker's CUDA_VISIBLE_DEVICES={self._cuda_visible} hides it"
        if self.problem:
            return self.problem
        listed = ", ".join(device.key for device in found.values()) or "no GPU"
        return f"there is no such GPU: NVML lists {listed}"

    def _devices(self) -> dict[Place, DeviceReading]:
        found: dict[Place, DeviceReading] = {}
        for number in sorted(self._cards):
            parts = self._instances.get(number)
            if parts:
                found |= {(number, part): parts[part] for part in sorted(parts)}
            else:
                found[number, None] = self._cards[number]
        return found

    def _update(self, driver: str | None, seen: list[Gpu]) -> None:
        fresh: set[int] = set()
        for gpu in sorted(seen, key=lambda gpu: gpu.uuid is None):  # first those that report a uuid
            number = self._number(gpu, fresh)
            fresh.add(number)
            self._cards[number] = _reading(gpu, f"gpu-{number}", driver, self._cards.get(number))
            if gpu.problem is None:
                self._instances[number] = self._parts(number, gpu, driver)
            else:
                self._fail(number, gpu.problem)
        for number in self._cards.keys() - fresh:
            self._fail(number, "NVML no longer lists it")

    def _parts(self, number: int, gpu: Gpu, driver: str | None) -> dict[int, DeviceReading]:
        """The card's MIG instances, by number."""
        before = self._instances.get(number, {})
        known = {part.uuid: place for place, part in before.items()}
        taken = {known[part.uuid] for part in gpu.instances if part.uuid in known}
        found = {}
        for part in gpu.instances:
            place = known.get(part.uuid)
            if place is None:
                place = part.index if part.index not in taken else max(taken) + 1
                taken.add(place)
            reading = _reading(part, f"gpu-{number}-mig-{place}", driver, before.get(place))
            found[place] = replace(reading, index=gpu.index)
        return found

    def _fail(self, number: int, problem: str) -> None:
        self._cards[number] = _failed(self._cards[number], problem)
        parts = self._instances.get(number, {})
        self._instances[number] = {place: _failed(part, problem) for place, part in parts.items()}

    def _number(self, gpu: Gpu, fresh: set[int]) -> int:
        unseen = {number: card for number, card in self._cards.items() if number not in fresh}
        same = [number for number, card in unseen.items() if gpu.uuid and gpu.uuid == card.uuid]
        # Without a uuid, now or in the last read, a card is taken for the one with the same NVML number.
        same += [number for number, card in unseen.items() if gpu.index == card.index and not (gpu.uuid and card.uuid)]
        taken = self._cards.keys()
        return same[0] if same else gpu.index if gpu.index not in taken else max(taken) + 1


def _reading(gpu: Gpu, key: str, driver: str | None, before: DeviceReading | None) -> DeviceReading:
    capability = gpu.capability or (before.capability if before else None)
    now = DeviceReading(
        key=key,
        kind=DeviceKind.GPU,
        index=gpu.index,
        name=gpu.name or (before.name if before else key.replace("gpu-", "GPU ")),
        total_bytes=gpu.total_bytes or (before.total_bytes if before else 0),
        free_bytes=gpu.free_bytes,
        utilisation=gpu.utilisation,
        temperature=gpu.temperature,
        processes=tuple(MemoryHolder(pid, used, name_of(pid), pid in gpu.displays) for pid, used in gpu.processes),
        bfloat16=half_precision(capability) is Precision.BFLOAT16,
        uuid=gpu.uuid or (before.uuid if before else None),
        driver=driver,
        capability=capability,
        health=gpu.health,
    )
    return replace(now, problem=health.problem_of(gpu.health)) if gpu.problem is None else _failed(now, gpu.problem)


def _failed(card: DeviceReading, problem: str) -> DeviceReading:
    return replace(card, free_bytes=0, utilisation=None, temperature=None, processes=(), problem=problem)
