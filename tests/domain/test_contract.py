import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import contract
from services.domain.contract import AllocatorStats, AttemptSpec, ContractError, Device, DeviceKind, Outcome, Reason
from services.domain.precision import Precision

SPEC = AttemptSpec(
    job_dir="/data/jobs/1",
    architecture="efficientdet_d0",
    micro_batch=2,
    precision=Precision.FLOAT16,
    probe=contract.Probe((4, 2, 1), limit_bytes=1000, fixed_bytes=100, image_bytes=200, sums_bytes=20),
    device=Device(kind=DeviceKind.GPU, gpu=1, async_allocator=True),
    resume=contract.Resume.NEVER,
    seed=7,
    best_metric=contract.BestMetric.MASK_MAP_50,
    early_stopping=contract.EarlyStopping(patience=3, min_gain=0.01),
    export_checkpoint=contract.Kept.LAST,
)
OUTCOME = Outcome(
    reason=Reason.DEVICE_MEMORY,
    message="ran out",
    step=40,
    saved_step=25,
    allocator=AllocatorStats(limit=100, in_use=90, peak=99, requested=20, requested_op="conv"),
    metrics={"mAP": 0.5},
    exported=contract.Exported(contract.Kept.BEST, 20, contract.BestMetric.AR_100, 0.25),
    stopped_early=True,
)


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(SPEC.to_json()) | fields)


@pytest.mark.parametrize("value", [SPEC, OUTCOME, Outcome(Reason.COMPLETED, "")], ids=["spec", "outcome", "bare"])
def test_a_round_trip_through_json_changes_nothing(value: AttemptSpec | Outcome) -> None:
    again = type(value).from_json(value.to_json())
    assert again == value
    assert type(getattr(again, "device", None)) in (Device, type(None))


def test_a_spec_may_leave_out_whatever_has_a_default() -> None:
    spec = AttemptSpec.from_json('{"job_dir": "/jobs/1", "architecture": "x", "device": {"memory_limit_mb": 1500}}')
    assert spec == AttemptSpec(job_dir="/jobs/1", architecture="x", device=Device(memory_limit_mb=1500))
    assert spec.precision is None


def test_unknown_fields_of_another_version_are_passed_over() -> None:
    passed_over: list[str] = []
    text = changed(colour="red", device={"kind": "cpu", "cores": 2, "memory_limit_mb": 5})
    spec = AttemptSpec.from_json(text, passed_over)
    assert (passed_over, spec.device, spec.seed) == (["colour", "device.cores"], Device(memory_limit_mb=5), SPEC.seed)
    said = json.loads(OUTCOME.to_json()) | {"of_a_later_version": [1]}
    assert Outcome.from_json(json.dumps(said), []) == OUTCOME
    with pytest.raises(ContractError, match="of_a_later_version: no such field"):
        Outcome.from_json(json.dumps(said))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "the document: expected an object, got list"),
        ('{"architecture": "x"}', "job_dir: is missing"),
        (changed(colour="red"), "colour: no such field"),
        (changed(device={"kind": "cpu", "cores": 2}), "device.cores: no such field"),
        (changed(best_metric="map"), "best_metric: one of mAP, mAP50, mAP75, AR100, mask_mAP, "),
        (changed(early_stopping={"patience": 0}), "early_stopping.patience: must be above 0, got 0"),
        (changed(early_stopping={"min_gain": 2}), "early_stopping.min_gain: must be from 0 to 1, got 2"),
        (changed(device=[]), "device: expected an object, got list"),
        (changed(device={"kind": "tpu"}), "device.kind: one of gpu, cpu, got 'tpu'"),
        (changed(device={"gpu": "0"}), "device.gpu: expected int, got '0'"),
        (changed(device={"gpu": -1}), "device.gpu: must not be negative, got -1"),
        (changed(device={"memory_limit_mb": -5}), "device.memory_limit_mb: must not be negative, got -5"),
        (changed(device={"kind": "gpu", "memory_limit_mb": 1500}), "device.memory_limit_mb: only for a CPU slot"),
        ("[" * 100_000, "the document: is nested too deeply"),
        ('{"seed": ' + "[" * 100_000 + "]" * 100_000 + "}", "the document: is nested too deeply"),
        (changed(checkpoint_every_s=10**400), "checkpoint_every_s: expected float, got a number too large"),
        (changed(resume="perhaps"), "resume: one of auto, never, got 'perhaps'"),
        (changed(micro_batch="4"), "micro_batch: expected int, got '4'"),
        (changed(micro_batch=1.5), "micro_batch: expected int, got 1.5"),
        (changed(micro_batch=True), "micro_batch: expected int, got True"),
        (changed(seed=None), "seed: expected int, got None"),
        (changed(export=1), "export: expected bool, got 1"),
        (changed(checkpoint_every_s=True), "checkpoint_every_s: expected float, got True"),
        (changed(micro_batch=-1), "micro_batch: must not be negative, got -1"),
        (changed(keep_checkpoints=0), "keep_checkpoints: must be above 0, got 0"),
        (changed(job_dir=""), "job_dir: must not be empty"),
        (changed(architecture=""), "architecture: must not be empty"),
        (changed(architecture="../other"), "architecture: must be a plain name, got '../other'"),
        (changed(architecture=".."), "architecture: must be a plain name, got '..'"),
    ],
)
def test_a_spec_that_breaks_the_contract_is_refused_by_field(text: str, problem: str) -> None:
    with pytest.raises(ContractError) as caught:
        AttemptSpec.from_json(text)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"micro_batches": []}, "probe.micro_batches: whole numbers from 1, the largest first, got []"),
        ({"micro_batches": [1, 2]}, "probe.micro_batches: whole numbers from 1, the largest first, got [1, 2]"),
        ({"micro_batches": [2, 0]}, "probe.micro_batches: whole numbers from 1, the largest first, got [2, 0]"),
        ({"micro_batches": [2, "1"]}, "probe.micro_batches[1]: expected int, got '1'"),
        ({"micro_batches": 2}, "probe.micro_batches: expected a list, got int"),
        ({"limit_bytes": 0}, "probe.limit_bytes: must be above 0, got 0"),
        ({"sums_bytes": -1}, "probe.sums_bytes: must not be negative, got -1"),
    ],
)
def test_a_probe_that_breaks_the_contract_is_refused_by_field(fields: dict[str, Any], problem: str) -> None:
    probe = json.loads(SPEC.to_json())["probe"] | fields
    with pytest.raises(ContractError) as caught:
        AttemptSpec.from_json(changed(probe=probe))
    assert str(caught.value) == problem


def test_an_outcome_names_the_field_of_a_wrong_metric() -> None:
    text = json.dumps({"reason": "completed", "message": "", "metrics": {"mAP": "high"}})
    with pytest.raises(ContractError, match=r"^metrics\.mAP: expected float, got 'high'"):
        Outcome.from_json(text)


def test_whole_numbers_are_accepted_as_floats() -> None:
    seconds = AttemptSpec.from_json(changed(checkpoint_every_s=60)).checkpoint_every_s
    assert (seconds, type(seconds)) == (60.0, float)


@pytest.mark.parametrize("text", ["NaN", "Infinity"])
def test_nan_and_infinity_do_not_pass_the_limits(text: str) -> None:
    broken = changed().replace('"micro_batch": 2', f'"micro_batch": {text}')
    with pytest.raises(ContractError, match="micro_batch"):
        AttemptSpec.from_json(broken)


def test_every_reason_has_its_own_exit_status() -> None:
    assert set(contract.EXIT_CODES) == set(Reason)
    assert len(set(contract.EXIT_CODES.values())) == len(Reason)
    # 128 and above are what a shell reports for signals
    assert all(0 <= code < 128 for code in contract.EXIT_CODES.values())


def test_specs_and_outcomes_cannot_be_edited() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SPEC.seed = 1  # type: ignore[misc]


def test_a_device_built_by_hand_is_checked_too() -> None:
    with pytest.raises(ContractError, match=r"^gpu: must not be negative, got -1"):
        Device(kind=DeviceKind.GPU, gpu=-1)


@given(st.integers(0, 10**6), st.integers(1, 512), st.integers(1, 512))
def test_a_resumed_step_is_after_as_many_images_to_half_a_batch(step: int, before: int, batch: int) -> None:
    resumed = contract.resumed_step(step, before, batch)
    assert abs(resumed * batch - step * before) <= batch / 2
    assert contract.resumed_step(step, before, before) == step
