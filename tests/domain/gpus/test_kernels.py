"""Which cards the wheels have code for. The architectures are those of TensorFlow 2.20 and 2.21."""

import pytest

from services.domain.gpus.kernels import Kernels, kernels, refusal, version_of
from services.domain.precision import fast_precisions

WHEEL = ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"]


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((5, 2), Kernels.MISSING),  # Maxwell
        ((6, 0), Kernels.READY),
        ((6, 1), Kernels.READY),  # GTX 1080: code for 6.0 runs on 6.1
        ((7, 0), Kernels.READY),  # V100
        ((7, 5), Kernels.READY),  # T4
        ((8, 0), Kernels.READY),
        ((8, 6), Kernels.READY),  # RTX 3090
        ((8, 9), Kernels.READY),  # RTX 4090
        ((9, 0), Kernels.COMPILED),  # H100
        ((10, 0), Kernels.COMPILED),
        ((12, 0), Kernels.COMPILED),
    ],
)
def test_machine_code_runs_within_a_generation_and_ptx_on_later_ones(
    capability: tuple[int, int], expected: Kernels
) -> None:
    assert kernels(WHEEL, capability) is expected


def test_code_for_a_later_card_of_the_generation_does_not_run_on_an_earlier_one() -> None:
    assert kernels(["sm_89"], (8, 6)) is Kernels.MISSING
    assert kernels([], (8, 6)) is Kernels.MISSING


@pytest.mark.parametrize("capability", [(10, 0), (10, 3), (12, 0)])
def test_blackwell_is_refused_by_name_until_there_is_machine_code(capability: tuple[int, int]) -> None:
    assert "Blackwell" in (refusal(WHEEL, capability, "9.10.2") or "")
    own = f"sm_{capability[0]}{capability[1]}"
    assert own in (refusal(WHEEL, capability, "9.10.2") or "")
    assert refusal([*WHEEL, own], capability, "9.20") is None


@pytest.mark.parametrize("capability", [(6, 0), (6, 1), (7, 0), (7, 2)])
def test_cudnn_from_9_11_on_is_refused_before_turing(capability: tuple[int, int]) -> None:
    assert "cuDNN 9.11.0" in (refusal(WHEEL, capability, "9.11.0") or "")
    assert "cuDNN 9.27.0.42" in (refusal(WHEEL, capability, "9.27.0.42") or "")
    assert refusal(WHEEL, capability, "9.10.2.21") is None
    assert refusal(WHEEL, (7, 5), "9.27.0.42") is None


def test_a_card_without_kernels_is_refused_with_what_there_is() -> None:
    said = refusal(WHEEL, (5, 2), "9.10.2") or ""
    assert "5.2" in said
    assert "sm_60" in said


def test_precisions_are_those_that_the_card_has_units_for() -> None:
    assert fast_precisions((6, 1)) == ["float32"]
    assert fast_precisions((7, 0)) == ["float32", "float16"]
    assert fast_precisions((8, 0)) == ["float32", "float16", "bfloat16"]


def test_versions_are_compared_by_their_numbers() -> None:
    assert version_of("9.9.0") < version_of("9.11.0")
    assert version_of("120") == (12, 0)
