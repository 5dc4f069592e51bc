"""One real step of each family in bfloat16 and in float16, compared with float32. Slow: float16 is, on a CPU."""

from typing import Any

import pytest

from benchmarks.precisions import FAMILIES, compare_precisions
from services.domain.precision import Precision

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.usefixtures("tensorflow_ready"),
]

# The largest differences that are allowed. bfloat16 has 8 bits of a number's digits, float16 has 11, float32 has 24.
LOSS = {Precision.BFLOAT16: 1e-3, Precision.FLOAT16: 5e-4}
UPDATE = {Precision.BFLOAT16: 0.2, Precision.FLOAT16: 0.08}


@pytest.mark.parametrize("model", FAMILIES)
def test_a_step_in_two_bytes_agrees_with_one_in_float32(model: str, dataset: Any) -> None:
    found = compare_precisions(model, dataset)

    assert [one.precision for one in found] == [Precision.BFLOAT16, Precision.FLOAT16]
    for one in found:
        assert one.loss < LOSS[one.precision], one
        assert one.update < UPDATE[one.precision], one
        assert one.skipped == 0, one
