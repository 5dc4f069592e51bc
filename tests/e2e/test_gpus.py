"""Jobs on GPUs: the real worker and the real NVML binding, with a fake driver library."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.contract import SPEC_FILE, AttemptSpec, EarlyStopping
from services.domain.jobs.states import State
from services.jobs import actions, config_diff
from services.store import jobs
from services.store.devices import devices
from services.store.engine import Store
from services.store.models import Device
from tests.support.box import ROOT, Box
from tests.support.fake_nvml import FakeGpu, FakeNvml
from tests.support.waiting import waits_for


@pytest.fixture
def nvml(tmp_path: Path) -> FakeNvml:
    return FakeNvml(tmp_path)


@pytest.fixture
def box(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> Iterator[Box]:
    box = Box(tmp_path / "home", store, monkeypatch, devices="gpu")
    environment = {**os.environ, **box.settings.to_environment(), **nvml.environment()}
    worker = subprocess.Popen([sys.executable, "-m", "worker"], cwd=ROOT, env=environment)
    yield box
    worker.terminate()
    worker.wait(30)
    box.close()


def reported(box: Box) -> list[Device]:
    with box.store.reading() as session:
        return list(devices.of_host(session, box.settings.host))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_job_waits_while_a_neighbour_holds_the_memory_and_starts_when_it_is_free(box: Box, nvml: FakeNvml) -> None:
    neighbour = os.getpid()
    nvml.write([FakeGpu(total_mb=8000, free_mb=700, processes=[(neighbour, 7200)])])
    found = box.until("the GPU", lambda: [device for device in reported(box) if not device.problem])
    assert [(process["pid"], process["used_bytes"]) for process in found[0].processes] == [(neighbour, 7200 * 2**20)]

    wishes = {"best_metric": "AR100", "early_stopping": {"patience": 1}, "export": "last"}
    job_id = box.submit(train={"steps": 6, "batch_size": 4, "evaluations": 3, **wishes})
    box.until("the reason why it waits", lambda: waits_for(box.job(job_id)))
    assert box.job(job_id).state == State.QUEUED
    assert "free memory" in waits_for(box.job(job_id))
    assert box.job(job_id).plan["micro_batch"] == 4  # the plan is not made smaller because of a neighbour

    nvml.write([FakeGpu(total_mb=8000, free_mb=7900)])
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)
    spec = AttemptSpec.from_json((box.settings.jobs_dir / str(job_id) / "attempt-1" / SPEC_FILE).read_text())
    assert (spec.device.kind, spec.device.gpu) == ("gpu", 0)
    assert spec.evaluate_every_steps == 2
    assert (spec.best_metric, spec.early_stopping, spec.export_checkpoint) == ("AR100", EarlyStopping(1), "last")


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_job_that_fails_because_of_a_neighbour_names_it_waits_and_runs_unchanged(box: Box, nvml: FakeNvml) -> None:
    nvml.write([FakeGpu(total_mb=8000, free_mb=7900)])
    box.behave(need_mb_per_image=600, step_s=0.3)
    job_id = box.submit(train={"steps": 200, "batch_size": 4})
    box.until("a step", lambda: box.job(job_id).step >= 1)

    neighbour = subprocess.Popen(["sleep", "600"])
    holds = f"sleep (process {neighbour.pid}) holds 7200 MB of NVIDIA Fake 3090"
    try:
        nvml.write([FakeGpu(total_mb=8000, free_mb=700, processes=[(neighbour.pid, 7200)])])
        box.behave(need_mb_per_image=600, step_s=0)
        box.until("the failure", lambda: box.job(job_id).state == State.QUEUED)
        job, [first] = box.job(job_id), box.attempts(job_id)
        assert first.diagnosis == "neighbour"
        assert holds in waits_for(job)
        assert job.not_before is not None

        with box.store.transaction() as session:  # the waiting time is over, and the neighbour is still there
            row = jobs.lock(session, job_id)
            assert row is not None
            row.not_before = None
        box.until("the reason why it waits", lambda: "free memory" in waits_for(box.job(job_id)))
        assert holds in waits_for(box.job(job_id))
        assert neighbour.poll() is None, "processes of others are never signalled"
    finally:
        neighbour.kill()
        neighbour.wait()
    nvml.write([FakeGpu(total_mb=8000, free_mb=7900)])
    [job] = box.until_final(job_id)
    assert (job.state, job.attempts, job.step) == (State.SUCCEEDED, 2, 200)
    _, second = box.attempts(job_id)
    assert (second.plan, second.adjustments, second.planned["changes"]) == (first.plan, {}, [])
    assert second.config == first.config


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_job_that_needs_half_the_memory_trains_in_float16_on_a_card_of_capability_7(box: Box, nvml: FakeNvml) -> None:
    nvml.write([FakeGpu(total_mb=11_000, free_mb=10_900, capability=(7, 5))])
    box.until("the GPU", lambda: [device for device in reported(box) if not device.problem])
    job_id = box.submit(train={"steps": 3, "batch_size": 64}, policy={"levers": ["precision"]})
    box.until_final(job_id)

    spec = AttemptSpec.from_json((box.settings.jobs_dir / str(job_id) / "attempt-1" / SPEC_FILE).read_text())
    assert spec.precision == "float16"
    [attempt] = box.attempts(job_id)
    assert "use_bfloat16: true" not in attempt.config
    for show in (config_diff.show_diff, config_diff.show_diff_to_submitted):
        changes = {change["field"]: change for change in show(box.store, box.admin, job_id, 1)["changes"]}
        assert (changes["precision"]["before"], changes["precision"]["after"]) == ("float32", "float16")
        assert "activations are kept in float16" in changes["precision"]["reason"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_the_adjustments_of_a_job_reach_its_trainer(box: Box, nvml: FakeNvml) -> None:
    job_id = box.submit()
    with box.store.transaction() as session:
        job = jobs.lock(session, job_id)
        assert job is not None
        job.adjustments = {"async_allocator": True, "shuffle_buffer_size": 2}
    nvml.write([FakeGpu(total_mb=8000, free_mb=7900)])
    box.until_final(job_id)
    spec = AttemptSpec.from_json((box.settings.jobs_dir / str(job_id) / "attempt-1" / SPEC_FILE).read_text())
    assert spec.device.async_allocator
    [attempt] = box.attempts(job_id)
    assert "shuffle_buffer_size: 2" in attempt.config
    assert attempt.adjustments == {"async_allocator": True, "shuffle_buffer_size": 2}


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_gpu_is_quarantined_while_memory_stays_in_use_after_an_attempt(box: Box, nvml: FakeNvml) -> None:
    nvml.write([FakeGpu(total_mb=8000, free_mb=7900)])
    box.until("the GPU", lambda: [device for device in reported(box) if not device.problem])
    box.behave(die="hang", die_at_step=1)
    first = box.submit()
    box.until("a step", lambda: box.job(first).step >= 1)
    nvml.write([FakeGpu(total_mb=8000, free_mb=3000)])  # as if the trainer's memory were not freed
    actions.cancel(box.store, box.owner, first)
    box.until_final(first)
    box.behave()
    box.until("the quarantine", lambda: "still in use" in (reported(box)[0].problem or ""))
    second = box.submit()
    nvml.write([FakeGpu(total_mb=8000, free_mb=7900)])
    box.until_final(second)
    assert reported(box)[0].problem is None
