"""The settings that reach TensorFlow. Tests run without a GPU, so a recorder of calls replaces `tf.config`."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from services.domain.contract import AllocatorStats, Device, DeviceKind, Reason
from worker.trainer import device
from worker.trainer.failures import AttemptEnd


class Recorder:
    """Replaces `tf.config` on a machine with some GPUs."""

    def __init__(self, gpus: int) -> None:
        self.gpus = [f"gpu-{number}" for number in range(gpus)]
        self.calls: list[tuple[str, Any]] = []
        self.experimental = SimpleNamespace(set_memory_growth=self._growth)

    def list_physical_devices(self, kind: str) -> list[str]:
        assert kind == "GPU"
        return self.gpus

    def _growth(self, gpu: str, on: bool) -> None:
        self.calls.append(("growth", (gpu, on)))

    def set_visible_devices(self, gpu: str, kind: str) -> None:
        self.calls.append(("visible", (gpu, kind)))


def test_growth_is_set_on_every_gpu_before_one_is_chosen() -> None:
    config = Recorder(gpus=3)

    name = device.configure(Device(kind=DeviceKind.GPU, gpu=1), config)

    assert name == "GPU:0"
    assert config.calls == [
        ("growth", ("gpu-0", True)),
        ("growth", ("gpu-1", True)),
        ("growth", ("gpu-2", True)),
        ("visible", ("gpu-1", "GPU")),
    ]


def test_a_missing_gpu_ends_with_that_reason() -> None:
    with pytest.raises(AttemptEnd) as raised:
        device.configure(Device(kind=DeviceKind.GPU, gpu=2), Recorder(gpus=2))

    assert raised.value.reason is Reason.BAD_DEVICE
    assert "GPU 2" in raised.value.message
    assert "2 GPU(s)" in raised.value.message


def test_a_cpu_slot_gets_the_allocator_of_gpus_with_its_limit() -> None:
    settings = device.environment(Device(memory_limit_mb=1500))

    assert settings["TF_CPU_ALLOCATOR_USE_BFC"] == "1"
    assert settings["TF_CPU_BFC_MEM_LIMIT_IN_MB"] == "1500"
    assert settings["CUDA_VISIBLE_DEVICES"] == "-1"
    assert settings["TF_ENABLE_ONEDNN_OPTS"] == "0"


def test_a_cpu_without_a_limit_keeps_its_own_allocator() -> None:
    assert "TF_CPU_ALLOCATOR_USE_BFC" not in device.environment(Device())


@pytest.mark.parametrize("chosen", [False, True])
def test_the_remedy_for_fragmentation_is_chosen_by_the_spec(chosen: bool) -> None:
    settings = device.environment(Device(kind=DeviceKind.GPU, async_allocator=chosen))

    assert settings["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert settings.get("TF_GPU_ALLOCATOR") == ("cuda_malloc_async" if chosen else None)


def test_evaluation_and_training_have_separate_peaks() -> None:
    figures = {"current": 5, "peak": 100}
    config = SimpleNamespace(
        experimental=SimpleNamespace(
            get_memory_info=lambda name: dict(figures),
            reset_memory_stats=lambda name: figures.update(peak=figures["current"]),
        )
    )
    memory = device.Memory(Device(memory_limit_mb=1), "CPU:0", config)

    with memory.evaluating():
        figures["peak"] = 400
    figures["peak"] = 90

    assert memory.counters() == AllocatorStats(limit=2**20, in_use=5, peak=100, evaluation_peak=400)


def test_a_cpu_without_a_limit_has_no_counters() -> None:
    memory = device.Memory(Device(), "CPU:0", SimpleNamespace(experimental=None))

    with memory.evaluating():
        assert memory.counters() == AllocatorStats()


def test_variables_exported_in_a_shell_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"TF_GPU_ALLOCATOR": "cuda_malloc_async", "TF_CPP_MIN_LOG_LEVEL": "3"})

    device.prepare_environment(Device(kind=DeviceKind.GPU))

    assert "TF_GPU_ALLOCATOR" not in os.environ
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0"
