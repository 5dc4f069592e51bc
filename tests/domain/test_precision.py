import pytest

from services.domain.precision import Precision, half_precision


@pytest.mark.parametrize(
    ("capability", "half"),
    [
        (None, None),
        ((5, 2), None),
        ((6, 1), None),
        ((7, 0), Precision.FLOAT16),
        ((7, 5), Precision.FLOAT16),
        ((8, 0), Precision.BFLOAT16),
        ((12, 0), Precision.BFLOAT16),
    ],
)
def test_tensor_cores_compute_float16_since_volta_and_bfloat16_since_ampere(capability, half):
    assert half_precision(capability) is half
