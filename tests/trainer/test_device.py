"""The settings that reach TensorFlow. Tests run without a GPU, so a recorder of calls replaces `tf.config`."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from services.domain.contract import AllocatorStats, Device, DeviceKind, HostCores, Reason
from worker.trainer import device
from worker.trainer.failures import AttemptEnd


class Recorder:
    """Replaces `tf.config` on a machine with some GPUs."""

    def __init__(self, gpus: int) -> None:
        self.gpus = [f"gpu-{number}" for number in range(gpus)]
        self.calls: list[tuple[str, Any]] = []
        self.experimental = SimpleNamespace(set_memory_growth=self._growth)
        self.threads: dict[str, int] = {}
        self.threading = SimpleNamespace(
            set_intra_op_parallelism_threads=lambda count: self.threads.update(intra=count),
            set_inter_op_parallelism_threads=lambda count: self.threads.update(inter=count),
        )

    def list_physical_devices(self, kind: str) -> list[str]:
        assert kind == "GPU"
        return self.gpus

    def _growth(self, gpu: str, on: bool) -> None:
        self.calls.append(("growth", (gpu, on)))

    def set_visible_devices(self, gpu: str, kind: str) -> None:
        self.calls.append(("visible", (gpu, kind)))


def test_growth_is_set_on_every_gpu_before_one_is_chosen() -> None:
    config = Recorder(gpus=3)

    name = device.configure(Device(kind=DeviceKind.GPU, gpu=1), config, HostCores(16, 4))

    assert name == "GPU:0"
    assert config.calls == [
        ("growth", ("gpu-0", True)),
        ("growth", ("gpu-1", True)),
        ("growth", ("gpu-2", True)),
        ("visible", ("gpu-1", "GPU")),
    ]


def test_a_missing_gpu_ends_with_that_reason() -> None:
    with pytest.raises(AttemptEnd) as raised:
        device.configure(Device(kind=DeviceKind.GPU, gpu=2), Recorder(gpus=2), HostCores())

    assert raised.value.reason is Reason.BAD_DEVICE
    assert "GPU 2" in raised.value.message
    assert "2 GPU(s)" in raised.value.message


@pytest.mark.parametrize(
    ("host", "cores", "threads"),
    [
        (HostCores(64, 8), 64, 8),
        (HostCores(16, 1), 16, 16),
        (HostCores(6, 4), 6, 1),  # never none
        (HostCores(0, 1), 6, 6),  # a spec of an older worker
        (HostCores(64, 1), 4, 4),  # the process is bound to fewer
    ],
)
def test_a_trainer_takes_its_share_of_the_cores(
    host: HostCores, cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    gpu, slot = Recorder(gpus=1), Recorder(gpus=0)

    device.configure(Device(kind=DeviceKind.GPU), gpu, host)
    device.configure(Device(memory_limit_mb=1500), slot, host)

    assert device.threads(host) == threads
    assert gpu.threads == {"intra": max(2, threads), "inter": max(2, threads)}
    assert slot.threads == {}  # it computes on every core that is idle


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


def test_tensorflows_reserve_and_scratch_memory_are_pinned_on_a_gpu() -> None:
    settings = device.environment(Device(kind=DeviceKind.GPU, reserve_mb=1536, workspace_mb=512))

    assert settings["TF_DEVICE_MIN_SYS_MEMORY_IN_MB"] == "1536"
    assert settings["TF_CUDNN_WORKSPACE_LIMIT_IN_MB"] == "512"
    assert "TF_DEVICE_MIN_SYS_MEMORY_IN_MB" not in device.environment(Device(kind=DeviceKind.GPU))


def test_the_limit_of_a_gpu_is_what_tensorflow_states() -> None:
    listed = [SimpleNamespace(device_type="CPU", memory_limit=1), SimpleNamespace(device_type="GPU", memory_limit=42)]

    assert device.allocator_limit(Device(kind=DeviceKind.GPU), lambda: listed) == 42
    assert device.allocator_limit(Device(memory_limit_mb=3), lambda: listed) == 3 * 2**20
    assert device.allocator_limit(Device(), lambda: listed) is None


def counted(figures: dict[str, int]) -> SimpleNamespace:
    """`tf.config` with these memory counters."""
    return SimpleNamespace(
        experimental=SimpleNamespace(
            get_memory_info=lambda name: dict(figures),
            reset_memory_stats=lambda name: figures.update(peak=figures["current"]),
        )
    )


@pytest.mark.parametrize(("kind", "peak"), [(DeviceKind.GPU, 5), (DeviceKind.CPU, 100)])
def test_a_gpus_first_step_does_not_count(kind: DeviceKind, peak: int) -> None:
    memory = device.Memory(Device(kind=kind), "x", counted({"current": 5, "peak": 100}), 2**20)

    memory.forget_warm_up()

    assert memory.counters().peak == peak


def test_evaluation_and_training_have_separate_peaks() -> None:
    figures = {"current": 5, "peak": 100}
    memory = device.Memory(Device(memory_limit_mb=1), "CPU:0", counted(figures), 2**20)

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
